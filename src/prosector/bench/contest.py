"""What is translated in a contest of decoders: a model, its sources as ids, and how long targets may be.

Sizes are models with random weights that never end a sentence, so that every engine writes as many tokens; shipped
models translate real sentences, and end them where they end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.config.position import SinusoidalPositionConfig
from prosector.config.transformer import TransformerConfig
from prosector.data.corpus import Pair
from prosector.decoding.installed import find_model
from prosector.decoding.shortlist import NOTHING, Shortlist, read_shortlist
from prosector.decoding.translator import Translator, load
from prosector.models.transformer import Transformer
from prosector.text import Tokenizer
from prosector.text.words import WordTokenizer

WORDS, TOKENS, STEPS = 8000, 25, 25  # of the made-up models: vocabulary, source with its end, target
SIZES: dict[str, dict[str, Any]] = {
    "small": {"d_model": 256, "n_heads": 4, "d_ff": 1024, "encoder_layers": 3, "decoder_layers": 3},
    "base": {"d_model": 512, "n_heads": 8, "d_ff": 2048, "encoder_layers": 6, "decoder_layers": 6},
}
NEVER = -1e4  # what is added to the end's logit


class Contest(NamedTuple):
    """One model and what it shall translate.

    Attributes:
        name: of the size or of the model.
        config: that of its folder.
        model: in float32.
        source: the source's tokenizer.
        target: the target's.
        sources: ids of all sentences, each with its end.
        longest: how many tokens each target may have.
        references: of real sentences, what they mean.
        shortlist: that of the model's folder, if it has one.
    """

    name: str
    config: TranslatorFolder
    model: Transformer
    source: Tokenizer
    target: Tokenizer
    sources: list[list[int]]
    longest: list[int]
    references: list[str]
    shortlist: Shortlist = NOTHING

    def first(self, n: int) -> Contest:
        """The same with the first n sentences alone."""
        return self._replace(sources=self.sources[:n], longest=self.longest[:n], references=self.references[:n])


def config_of(size: str, **fields: Any) -> TransformerConfig:
    """A size that can be said in every peer's words: post-norm, sinusoids, biases, ReLU, tied tables."""
    return TransformerConfig(
        source_vocab=WORDS,
        target_vocab=WORDS,
        tie="all",
        norm_placement="post",
        position=SinusoidalPositionConfig(layout="half-split"),
        **(SIZES[size] | fields),
    )


def made_up(size: str, n: int, seed: int = 1) -> Contest:
    """A size with random weights, and n sentences of random words."""
    config = config_of(size, output_bias=True, dropout=0.0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = config.build().eval()
        ids = torch.randint(4, WORDS, (n, TOKENS))
    with torch.no_grad():
        model.output.bias[config.special.ends] = NEVER
    ids[:, -1] = config.special.ends[0]
    words = WordTokenizer([f"w{number}" for number in range(WORDS - 4)])
    folder = TranslatorFolder(source="zh", target="en", model=config)
    return Contest(size, folder, model, words, words, ids.tolist(), [STEPS] * n, [])


def real(name: str, pairs: Sequence[Pair]) -> Contest:
    """A shipped model, or that of a folder, and sentences of some pairs, each as one source."""
    translator: Translator = load(name)
    sources = [translator.ids(pair.source) for pair in pairs]
    longest = [translator.longest_target(len(source), DecodingConfig()) for source in sources]
    references = [pair.target for pair in pairs]
    model: Transformer = translator.model  # type: ignore[assignment]
    words = translator.source, translator.target
    shortlist = read_shortlist(find_model(name))
    return Contest(name, translator.config, model, *words, sources, longest, references, shortlist)
