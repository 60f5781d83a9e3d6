"""A translator that our native core runs: 8-bit integers, C++, the same searches step for step (`native/`).

The core is a wheel of its own, `prosector-native`. Weights are rounded to whole numbers, row by row, when a model is
loaded, and what goes into a map when it is computed; so log p differs a little from PyTorch's, and now and then a word.

Nothing here needs PyTorch, but for positions that `native_weights.py` has no table of, and for drawing by chance.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.config.model import n_positions
from prosector.config.special import first_id
from prosector.config.transformer import TransformerConfig
from prosector.decoding.folder_config import read_as, read_tokenizers
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.installed import installed_for
from prosector.decoding.native_weights import BY_TABLE, Arrays, arrays_in, arrays_of
from prosector.decoding.repetition import Allowed, RepetitionGuard
from prosector.decoding.rules import Rule, anything_goes
from prosector.decoding.shortlist import NOTHING, Shortlist, read_shortlist
from prosector.decoding.texts import Piece, TextTranslator
from prosector.text import Tokenizer

# The core's name of what is inside a feed-forward network; of a gated one, of what opens the gate.
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "gelu-tanh": "gelu-tanh", "swish": "swish"}
GATES = {"swiglu": "swish", "geglu": "gelu-tanh"}
EPSILON = {"layer": 1e-5, "rms": 1e-6}
OWN_POSITIONS = ("none", "binary", "one-hot", "sinusoidal", "learned", "rope", "yarn", "alibi", "t5")
LONGEST = 1024  # how far tables of positions reach, unless the model was trained on longer texts


def core() -> Any | None:
    """The compiled core, if it is installed."""
    try:
        return importlib.import_module("prosector_native")
    except ImportError:
        return None


def obstacles(config: Any) -> list[str]:
    """What of a model's config the core does not know; empty if it can run it."""
    if not isinstance(config, TransformerConfig):
        return [f"kind={config.kind}"]
    found = {
        f"norm={config.norm}": config.norm not in EPSILON,
        f"position={config.position.kind}": config.position.kind not in OWN_POSITIONS,
    }
    return [name for name, unknown in found.items() if unknown]


def n_rows(config: TranslatorFolder) -> int:
    """How far tables of positions reach."""
    return min(n_positions(config.model), max(LONGEST, 2 * config.max_tokens + 10))


def settings_of(config: TransformerConfig) -> dict[str, Any]:
    """What the core has to know of a config."""
    d_head = config.d_head or config.d_model // config.n_heads
    return {
        "d_model": config.d_model,
        "n_heads": config.n_heads,
        "n_kv_heads": config.n_kv_heads or config.n_heads,
        "d_head": d_head,
        "d_ff": config.d_ff,
        "pre_norm": config.norm_placement == "pre",
        "activation": GATES.get(config.activation) or ACTIVATIONS[config.activation],
        "attention_scale": config.attention_scale or d_head**-0.5,
        "embedding_scale": config.d_model**0.5 if config.scale_embedding else 1.0,
        "output_scale": config.d_model**-0.5 if config.scale_output else 1.0,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "rms": config.norm == "rms",
        "norm_eps": config.norm_eps or EPSILON[config.norm],
        "interleaved": getattr(config.position, "layout", "") == "interleaved",
    }


def compiled(
    config: TranslatorFolder,
    arrays: Arrays,
    wordiness: Sequence[int],
    kernels: str = "",
    shortlist: Shortlist = NOTHING,
) -> Any:
    """A model in the core.

    Args:
        config: what its folder says.
        arrays: its weights and tables (`native_weights.py`).
        wordiness: of each of its words, for the repetition guard.
        kernels: of which kind; the best that the machine can run if "".
        shortlist: the words that may translate each word, if there is one.

    Raises:
        ImportError: the core is not installed.
        ValueError: it does not know something of the config, the weights or the shortlist do not fit it, or there are
            no such kernels.
    """
    if unknown := obstacles(config.model):
        raise ValueError(f"the native core does not know {', '.join(unknown)}; use --engine pytorch")
    library = core()
    if library is None:
        raise ImportError("the native core is not installed: pip install prosector-native")
    model: Any = config.model
    return library.Translator(
        settings_of(model),
        list(arrays.items()),
        first_id(model.special),
        model.special.ends,
        model.special.unwritten,
        list(wordiness),
        as_long(shortlist, model.source_vocab),
        kernels,
    )


def as_long(shortlist: Shortlist, words: int) -> tuple[list[int], list[int], list[int]]:
    """A shortlist for as many source words as the model has rows, which may be more than its tokenizer knows."""
    start = shortlist.start
    return start + start[-1:] * (words + 1 - len(start)), shortlist.words, shortlist.always


class NativeTranslator(TextTranslator):
    """A translator whose targets the native core finds.

    >>> NativeTranslator.load("runs/mine").translate("我喜欢深度学习。")

    Args:
        config: what the model's folder says.
        arrays: its weights and tables.
        source: the source's tokenizer.
        target: the target's.
        kernels: of which kind; the best that the machine can run if "".
        shortlist: the words that may translate each word, if there is one.
    """

    def __init__(
        self,
        config: TranslatorFolder,
        arrays: Arrays,
        source: Tokenizer,
        target: Tokenizer,
        kernels: str = "",
        shortlist: Shortlist = NOTHING,
    ) -> None:
        self.config, self.source, self.target, self.shortlist = config, source, target, shortlist
        self.core = compiled(config, arrays, self.wordiness, kernels, shortlist)
        self.special = config.model.special  # type: ignore[union-attr]  # a Transformer's, or there were no core

    @classmethod
    def load(cls, folder: str | Path, kernels: str = "") -> Self:
        """The translator in a model's folder; PyTorch is imported only if its positions ask for it.

        Raises:
            ImportError: the core is not installed.
            FileNotFoundError: it is no model's folder, or a file is missing.
            ValueError: a file is damaged, or it is a model that the core does not know.
        """
        folder = Path(folder)
        config = read_as(folder, TranslatorFolder, "translate")
        if unknown := obstacles(config.model):
            raise ValueError(f"the native core does not know {', '.join(unknown)}; use --engine pytorch")
        if config.model.position.kind in BY_TABLE:  # type: ignore[union-attr]
            arrays = arrays_in(folder, config, n_rows(config))
        else:
            from prosector.decoding.folder import with_weights

            arrays = arrays_of(with_weights(folder, config.model), n_rows(config))
        return cls(config, arrays, *read_tokenizers(folder, config), kernels, read_shortlist(folder))

    def require(self, decoding: DecodingConfig) -> None:
        if decoding.shortlist and not self.shortlist.start:
            raise ValueError("shortlist: the model has none; prosector shortlist makes one from sentence pairs")

    def longest_target(self, source_length: int, decoding: DecodingConfig) -> int:
        """As PyTorch's, and no longer than the tables of positions."""
        return min(super().longest_target(source_length, decoding), n_rows(self.config) - 1)

    def search(
        self,
        sources: Sequence[Sequence[int]],
        longest: Sequence[int],
        texts: Sequence[str],
        rule: Rule,
        decoding: DecodingConfig,
    ) -> list[list[Hypothesis]]:
        """Each source's targets, the best first."""
        chances = chances_for(texts, longest, decoding)
        return searched(self.core, sources, longest, allowed_by(rule), chances, decoding, n_threads())

    def growing(self, piece: Piece, decoding: DecodingConfig) -> Iterator[str]:
        """The translation of a piece while it is written: of a beam what all its hypotheses begin with."""
        rule = RepetitionGuard([piece.text], self.wordiness) if decoding.repetition_guard else anything_goes
        source = self.ids(piece.text)
        longest = [self.longest_target(len(source), decoding)]
        chances = chances_for([piece.text], longest, decoding)
        stream = begun(self.core, source, longest, allowed_by(rule), chances, decoding)
        shown = ""
        while stream.step():
            text = self.target.decode(stream.certain).strip()
            if text.startswith(shown) and not text.endswith("\ufffd"):  # half of a character is not shown
                shown = text
                yield text
        yield self.target.decode(stream.result[0][0]).strip()


def allowed_by(rule: Rule) -> list[Allowed]:
    """What a repetition guard allows each source; empty without one."""
    return rule.allowed if isinstance(rule, RepetitionGuard) else []


def chances_for(texts: Sequence[str], longest: Sequence[int], decoding: DecodingConfig) -> list[list[float]]:
    """The numbers that are drawn for each text, PyTorch's own; none unless it is to draw by chance."""
    if decoding.method != "sampling":
        return []
    from prosector.decoding.sampling import chances_of, generator_of

    generators = [generator_of(decoding.seed or 0, text) for text in texts]
    return [numbers.tolist() for numbers in chances_of(generators, longest)]


def searched(
    core: Any,
    sources: Sequence[Sequence[int]],
    longest: Sequence[int],
    allowed: Sequence[Allowed],
    chances: Sequence[Sequence[float]],
    decoding: DecodingConfig,
    threads: int,
) -> list[list[Hypothesis]]:
    """What the core finds; with nothing `allowed`, unguarded."""
    found = core.search(*given(sources, longest, allowed, chances), **fields_of(decoding), threads=threads)
    return [[Hypothesis(*one) for one in some] for some in found]


def begun(
    core: Any,
    source: Sequence[int],
    longest: Sequence[int],
    allowed: Sequence[Allowed],
    chances: Sequence[Sequence[float]],
    decoding: DecodingConfig,
) -> Any:
    """The same for one source, a step at a time."""
    stream = importlib.import_module("prosector_native").Stream
    return stream(core, *given([source], longest, allowed, chances), **fields_of(decoding))


def given(
    sources: Sequence[Sequence[int]],
    longest: Sequence[int],
    allowed: Sequence[Allowed],
    chances: Sequence[Sequence[float]],
) -> tuple[list[list[int]], list[int], list[tuple[int, int]], list[list[float]]]:
    """Sources and what is particular to each, as the core takes them."""
    counts = [(each.words, each.signs) for each in allowed]
    return list(map(list, sources)), list(longest), counts, list(map(list, chances))


def fields_of(decoding: DecodingConfig) -> dict[str, Any]:
    """How to search, as the core takes it."""
    return {
        "beam": decoding.size,
        "alpha": decoding.alpha,
        "n_best": decoding.n_best,
        "temperature": decoding.temperature or 1.0,
        "top_k": min(decoding.top_k or 0, 2**31 - 1),  # a number of C++
        "top_p": decoding.top_p or 0.0,
        "shortlisted": decoding.shortlist,
    }


def n_threads() -> int:
    """OMP_NUM_THREADS, as for PyTorch, or as many as this process has cores."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return min(max(1, int(wanted)), 1024) if wanted.isdecimal() else len(os.sched_getaffinity(0))


def runs_natively(folder: Path) -> bool:
    """Whether the core is installed and knows the translator in a folder."""
    return core() is not None and not obstacles(read_as(folder, TranslatorFolder, "translate").model)


def native_for(text: str) -> NativeTranslator:
    """The installed translator that reads the text's script, loaded once; raises as `NativeTranslator.load` does."""
    return _loaded(installed_for(text))


@cache
def _loaded(folder: Path) -> NativeTranslator:
    return NativeTranslator.load(folder)
