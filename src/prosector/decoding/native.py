"""A translator that our native core runs: 8-bit integers, C++, the same searches step for step (`native/`).

The core is a wheel of its own, `prosector-native`. Weights are rounded to whole numbers, row by row, when a model is
loaded, and what goes into a map when it is computed; so log p differs a little from PyTorch's, and now and then a word.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.config.model import n_positions
from prosector.config.transformer import TransformerConfig
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.repetition import Allowed, RepetitionGuard
from prosector.decoding.sampling import chances_of, generator_of
from prosector.decoding.step import Rule, first_id
from prosector.decoding.translator import Translator
from prosector.models.transformer import Transformer
from prosector.models.weights import weights_of
from prosector.positions import Position, RotaryPosition
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


def tables_of(position: Position, rows: int, d_model: int) -> dict[str, Tensor]:
    """What an encoding does at each of its three places, as tables: `added`, `cosine` and `sine`, `bias`."""
    kind, at = type(position), torch.arange(rows)
    found: dict[str, Tensor] = {}
    with torch.inference_mode():
        if kind.embed is not Position.embed:
            found["added"] = position.embed(torch.zeros(1, rows, d_model), at)[0]  # [rows, d]
        if isinstance(position, RotaryPosition):
            cosine, sine = position.cos_sin(at, torch.float32)  # [1, rows, d_head / 2]
            found |= {"cosine": cosine[0], "sine": sine[0]}
        bias = position.bias(torch.tensor([rows - 1]), torch.arange(2 * rows - 1))
        if bias is not None:
            found["bias"] = bias[0, :, 0]  # [H, 2 rows - 1], by key position - query position
    return found


def compiled(config: TranslatorFolder, model: Transformer, wordiness: Sequence[int], kernels: str = "") -> Any:
    """A model in the core.

    Raises:
        ImportError: the core is not installed.
        ValueError: it does not know something of the config, or there are no such kernels on this machine.
    """
    if unknown := obstacles(model.config):
        raise ValueError(f"the native core does not know {', '.join(unknown)}; leave out --engine native")
    library = core()
    if library is None:
        raise ImportError("the native core is not installed: pip install prosector-native")
    arrays = weights_of(model) | {"output.weight": model.output.weight.detach()}
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        tables = tables_of(stack.position, n_rows(config), model.config.d_model)
        arrays |= {f"positions.{side}.{name}": table for name, table in tables.items()}
    special = model.config.special
    return library.Translator(
        settings_of(model.config),
        [(name, value.float().contiguous().numpy()) for name, value in arrays.items()],
        first_id(special),
        special.ends,
        special.unwritten,
        list(wordiness),
        kernels,
    )


class NativeTranslator(Translator):
    """A `Translator` whose targets the native core finds.

    Args:
        kernels: of which kind; the best that the machine can run if "".
    """

    def __init__(
        self, config: TranslatorFolder, model: Any, source: Tokenizer, target: Tokenizer, kernels: str = ""
    ) -> None:
        super().__init__(config, model, source, target)
        self.core = compiled(config, model, self.wordiness, kernels)

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
        generators = [generator_of(decoding.seed or 0, text) for text in texts]
        allowed = rule.allowed if isinstance(rule, RepetitionGuard) else []
        return searched(self.core, sources, longest, allowed, generators, decoding, torch.get_num_threads())


def searched(
    core: Any,
    sources: Sequence[Sequence[int]],
    longest: Sequence[int],
    allowed: Sequence[Allowed],
    generators: Sequence[torch.Generator],
    decoding: DecodingConfig,
    threads: int,
) -> list[list[Hypothesis]]:
    """What the core finds; with nothing `allowed`, unguarded."""
    chances = chances_of(generators, longest) if decoding.method == "sampling" else []
    found = core.search(
        [list(source) for source in sources],
        list(longest),
        [tuple(each) for each in allowed],
        [numbers.tolist() for numbers in chances],
        beam=decoding.size,
        alpha=decoding.alpha,
        n_best=decoding.n_best,
        temperature=decoding.temperature or 1.0,
        top_k=decoding.top_k or 0,
        top_p=decoding.top_p or 0.0,
        threads=threads,
    )
    return [[Hypothesis(*one) for one in some] for some in found]


def native(translator: Translator, kernels: str = "") -> NativeTranslator:
    """The same translator, run by the native core; raises as `compiled` does."""
    make = partial(NativeTranslator, kernels=kernels)
    return make(translator.config, translator.model, translator.source, translator.target)
