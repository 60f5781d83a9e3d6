"""What if? A model with something taken away, without touching the model itself.

    mask off        each target token sees those after it too, also the one that it shall write
    positions off   the encoding is replaced by none: sentences become bags of words
    heads off       what these heads found is replaced by zeros

The weights are shared with the model; two threads may use both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from prosector.attention import Mask
from prosector.blocks.stack import Stack
from prosector.observe import Seen, observe
from prosector.positions import Position


@dataclass(frozen=True)
class Change:
    """What is different from the model as it is.

    Attributes:
        mask_off: the decoder's causal mask.
        positions_off: in all stacks.
        heads_off: the addresses of attentions, each with a head's number.
    """

    mask_off: bool = False
    positions_off: bool = False
    heads_off: tuple[tuple[str, int], ...] = ()

    def applied(self, model: nn.Module) -> nn.Module:
        """The model, or one that shares its weights and has no positions."""
        return without_positions(model) if self.positions_off else model

    @property
    def mask(self) -> Mask | None:
        """The decoder's mask, if it is not its own."""
        return Mask.window(None, None) if self.mask_off else None

    @contextmanager
    def observed(self, model: nn.Module, keep: Sequence[str]) -> Iterator[Seen]:
        """Observe a model (as `applied` gave it) with these heads silenced."""
        with observe(model, keep) as seen:
            for address, head in self.heads_off:
                seen.edit(f"{address}.heads", silenced(head))
            yield seen


def silenced(head: int) -> Callable[[Tensor], Tensor]:
    """An edit: zeros where a head's findings were."""

    def edit(heads: Tensor) -> Tensor:
        heads[:, head] = 0
        return heads

    return edit


def without_positions(model: nn.Module) -> nn.Module:
    """A model of the same weights, whose stacks know nothing of order."""

    def shallow(module: nn.Module) -> nn.Module:
        twin = copy(module)
        twin._modules = dict(module._modules)
        return twin

    bare = shallow(model)
    for name, part in model.named_children():
        if isinstance(part, Stack):
            stack = shallow(part)
            stack.position = Position()
            setattr(bare, name, stack)
    return bare


@dataclass
class Read:
    """What was written so far, instead of keys and values: without a mask each new token changes all earlier ones."""

    ids: list[Tensor] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(ids.shape[1] for ids in self.ids)

    def select(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.ids = [ids.index_select(0, rows) for ids in self.ids]


class Unmasked:
    """A translator that looks ahead in what is written: as decoding wants it, all is read anew at each step."""

    def __init__(self, model: Any) -> None:
        self.model, self.config = model, model.config

    def encode(self, src: Tensor) -> Tensor:
        memory: Tensor = self.model.encode(src)
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, memory_real: Tensor, cache: Any) -> Tensor:
        cache.ids.append(tgt)
        hidden: Tensor = self.model.decode(
            torch.cat(cache.ids, dim=1), memory, memory_real, mask=Mask.window(None, None)
        )
        return hidden[:, -tgt.shape[1] :]

    def logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.model.logits(hidden)
        return logits

    def new_cache(self) -> Any:
        return Read()
