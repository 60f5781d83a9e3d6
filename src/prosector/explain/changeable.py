"""What can be changed about a run, model by model; and a sentence for what cannot.

text         another sentence                             models of texts
search       the beam, the length penalty                 translators
temperature  drawing instead of searching                 models that write
force        another word at a step                       models that write
mask         no causal mask                               models that write with attention
positions    no positions                                 where there are some
heads        heads that find nothing                      where there are heads
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from prosector.attention import MultiHeadAttention
from prosector.blocks.stack import Stack
from prosector.config.special import SpecialIds
from prosector.decoding import Translator
from prosector.decoding.reader import Reader
from prosector.decoding.writer import TextWriter
from prosector.explain.options import RunOptions
from prosector.positions import Position

REFUSALS = {
    "mask": "this model has no causal mask that could be taken away",
    "positions": "this model has no positions that could be taken away",
    "heads": "this model has no heads that could be taken away",
    "temperature": "this model does not write: there is nothing to draw",
    "force": "this model does not write word by word: no word can be forced",
}


def changeable(ability: Any) -> list[str]:
    """What can be changed about this model's runs."""
    model: nn.Module = ability.model
    writes = isinstance(ability, Translator | TextWriter)
    known = {
        "text": writes or isinstance(ability, Reader),
        "search": isinstance(ability, Translator),
        "temperature": writes,
        "force": writes,
        "mask": writes and isinstance(getattr(model, "decoder", None), Stack),
        "positions": any(type(stack.position) is not Position for stack in stacks_of(model)),
        "heads": bool(heads_of(model)),
    }
    return [what for what, is_there in known.items() if is_there]


def refuse(ability: Any, options: RunOptions) -> None:
    """Raises ValueError if something shall be changed that this model does not have."""
    wanted = {
        "mask": options.mask_off,
        "positions": options.positions_off,
        "heads": bool(options.heads_off),
        "temperature": options.temperature is not None,
        "force": bool(options.prefix),
    }
    known = changeable(ability)
    for what, is_wanted in wanted.items():
        if is_wanted and what not in known:
            raise ValueError(REFUSALS[what])
    sizes = dict(heads_of(ability.model))
    for address, head in options.heads_off:
        if not 0 <= head < sizes.get(address, 0):
            raise ValueError(f"there is no head {head} at {address!r}; it has {sizes.get(address, 0)}")


def check_prefix(prefix: Sequence[int], n_words: int, special: SpecialIds) -> None:
    """Raises ValueError if these tokens cannot be what somebody writes."""
    if never := [id for id in prefix if id in special.unwritten]:
        raise ValueError(f"token {never[0]} is one that no one writes")
    if wrong := [id for id in prefix if not 0 <= id < n_words]:
        raise ValueError(f"there is no token {wrong[0]}; the vocabulary has {n_words}")


def stacks_of(model: nn.Module) -> list[Stack]:
    """The stacks of a model that know positions."""
    return [part for part in model.children() if isinstance(part, Stack)]


def heads_of(model: nn.Module) -> list[tuple[str, int]]:
    """The addresses of a model's attentions, and how many heads each has."""
    return [(address, part.n_heads) for address, part in model.named_modules() if isinstance(part, MultiHeadAttention)]
