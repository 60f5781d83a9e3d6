"""How good a translator is: its translations against references, and how surprised it is by these."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import nn

from prosector.config.decoding import DecodingConfig
from prosector.data.corpus import Pair
from prosector.evaluation.perplexity import Surprise, surprise
from prosector.evaluation.scores import score
from prosector.text import Tokenizer


class Described(Protocol):
    """What is said of a translator: a model folder's config says it."""

    @property
    def target(self) -> str: ...
    @property
    def source_eos(self) -> bool: ...
    @property
    def max_tokens(self) -> int: ...


class CanTranslate(Protocol):
    """A model with its tokenizers; `prosector.decoding.Translator` is one."""

    source: Tokenizer
    target: Tokenizer

    @property
    def config(self) -> Described: ...
    def translate(self, texts: list[str], decoding: DecodingConfig, /) -> list[str]: ...


class Evaluation(NamedTuple):
    """The figures, and what they are figures of.

    Attributes:
        bleu, chrf: of the corpus, 100 at most; the signatures say how they were computed.
        loss: mean - log p of a reference's token, nats, unsmoothed; NaN if every pair is too long, or if another
            engine translates (interop/engines), which gives none.
        perplexity: e^loss.
        n_pairs: all are translated and scored.
        n_too_long: of these the pairs with a side longer than the model was trained on, which count in
            neither loss nor perplexity.
        n_tokens: tokens of the references that the loss is the mean of, `<eos>` counted.
        seconds: that translating took.
        tokens_per_second: tokens of the translations in that time.
        translations: what was written, in order.
    """

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str
    loss: float
    perplexity: float
    n_pairs: int
    n_too_long: int
    n_tokens: int
    seconds: float
    tokens_per_second: float
    translations: list[str]


def evaluate(translator: CanTranslate, pairs: Sequence[Pair], decoding: DecodingConfig | None = None) -> Evaluation:
    """Translate every pair's source, and compare with its target.

    Raises:
        ValueError: there are no pairs.
    """
    if not pairs:
        raise ValueError("there are no sentence pairs to evaluate on")
    began = time.perf_counter()
    translations = translator.translate([pair.source for pair in pairs], decoding or DecodingConfig())
    seconds = time.perf_counter() - began

    config = translator.config
    scores = score(translations, [pair.target for pair in pairs], config.target)
    sources = translator.source.encode_batch(pair.source for pair in pairs)
    targets = translator.target.encode_batch(pair.target for pair in pairs)
    fitting = [
        (src, tgt)
        for src, tgt in zip(sources, targets, strict=True)
        if max(len(src) + config.source_eos, len(tgt) + 1) <= config.max_tokens
    ]
    surprised = Surprise(0.0, 0)
    model = getattr(translator, "model", None)
    if isinstance(model, nn.Module):
        sides = [src for src, _ in fitting], [tgt for _, tgt in fitting]
        surprised = surprise(model, *sides, config.source_eos)
    written = sum(map(len, translator.target.encode_batch(translations)))
    return Evaluation(
        *scores,
        loss=surprised.loss,
        perplexity=surprised.perplexity,
        n_pairs=len(pairs),
        n_too_long=len(pairs) - len(fitting),
        n_tokens=surprised.n_tokens,
        seconds=seconds,
        tokens_per_second=written / seconds,
        translations=translations,
    )
