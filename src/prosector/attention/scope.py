"""What the layers of a stack share in one forward pass: the mask, the positions, and the bias.

The stack makes one `Scope` for its self-attention and one for cross-attention; the layers
hand it to their attention. So a mask is made dense once, and a bias computed once, if a kernel
wants all of it; one that goes block by block asks for the `part` of each block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.attention.blocks import Part
from prosector.attention.functional import accumulation_type
from prosector.attention.masks import Mask, Window, agreed
from prosector.attention.packing import Packing
from prosector.tap import tap_mask

Rotate = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Added = tuple[Tensor | None, Tensor | None]


class Adds(Protocol):
    """What can be asked for any block of a bias: a `Position` can."""

    def bias(self, query_positions: Tensor, key_positions: Tensor) -> Float[Tensor, "#B H Lq Lk"] | None:
        """What is added to the scores of these queries and keys."""

    def fold(self, query_positions: Tensor, key_positions: Tensor) -> tuple[Tensor, Tensor] | None:
        """Features of queries and of keys whose dot product is that, where no key stands after its query."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """What it has learned."""


@dataclass
class Scope:
    """Which keys the queries of one forward pass may look at, and how positions take part.

    Attributes:
        query_positions: the real positions of the queries, [Lq] or [B, Lq].
        key_positions: those of all keys, the cached ones included, [Lk] or [B, Lk].
        mask: the rule; None lets everything look at everything.
        adds: what is added to the scores, as a table [1 or B, H, Lq, Lk] or as the position that makes it.
        rotate: what positions do to (query, new keys, query positions, new keys' positions).
        new_key_positions: the positions of the keys computed in this pass; all of them without a cache.
        counted: it is known without looking that the keys stand at 0, 1, 2, … and the queries are the last of them.
        places: where the encoding takes the queries to be, if not at their positions.
        key_places: where it takes all keys to be, if not at theirs.
        packed: where the queries' tokens stand, if they come without padding.
        packed_keys: where those do that keys and values are made from.
    """

    query_positions: Int[Tensor, "*B Lq"]
    key_positions: Int[Tensor, "*B Lk"]
    mask: Mask | None = None
    adds: Adds | Float[Tensor, "B H Lq Lk"] | None = None
    rotate: Rotate | None = None
    new_key_positions: Int[Tensor, "*B Ln"] | None = None
    counted: bool = False
    places: Tensor | None = None
    key_places: Tensor | None = None
    packed: Packing | None = None
    packed_keys: Packing | None = None

    _dense: Bool[Tensor, "B H Lq Lk"] | None = field(default=None, init=False, repr=False)
    _bias: Float[Tensor, "B H Lq Lk"] | None = field(default=None, init=False, repr=False)
    _bias_learns: bool = field(default=False, init=False, repr=False)
    _added: dict[tuple[torch.dtype, bool], Added] = field(default_factory=dict, init=False, repr=False)

    def placed(self) -> tuple[Tensor, Tensor]:
        """Where the encoding takes queries and keys to be."""
        return (
            self.query_positions if self.places is None else self.places,
            self.key_positions if self.key_places is None else self.key_places,
        )

    @property
    def may_look(self) -> Bool[Tensor, "B H Lq Lk"] | None:
        """The mask made dense, once for all layers."""
        if self.mask is not None and self._dense is None:  # cached_property takes a lock, which torch.compile cannot
            self._dense = self.mask.may_look(self.query_positions, self.key_positions)
        return self._dense

    def may_look_of(self, query: Float[Tensor, "B H Lq d"]) -> Bool[Tensor, "B H Lq Lk"] | None:
        """The dense mask, once it is sure that it fits these queries.

        Raises:
            ValueError: it was made for another number of rows or heads; both are named.
        """
        if self.may_look is not None:
            for what, made_for, size in zip(("rows", "heads"), self.may_look.shape, query.shape, strict=False):
                if made_for not in (1, size):
                    raise ValueError(f"a mask for {made_for} {what} meets {size}; make it for the {what} of this call")
        return self.may_look

    @property
    def bias(self) -> Float[Tensor, "B H Lq Lk"] | None:
        """What is added to all scores, computed once for all layers; again if gradients are wanted only now."""
        if self.adds is None or isinstance(self.adds, Tensor):
            return self.adds
        learns = torch.is_grad_enabled()
        if self._bias is None or (learns and not self._bias_learns):
            self._bias, self._bias_learns = self.adds.bias(*self.placed()), learns
        return self._bias

    @property
    def has_bias(self) -> bool:
        """Whether anything is added to the scores; one pair is asked."""
        if self.adds is None or isinstance(self.adds, Tensor):
            return self.adds is not None
        query_places, key_places = self.placed()
        return self.adds.bias(query_places[..., :1], key_places[..., :1]) is not None

    def added_to(self, query: Float[Tensor, "B H Lq d"]) -> Added:
        """Bias and mask as one table of numbers, once for all layers: what these queries' scores get added.

        That is -∞ where a query may not look, but for one that may look nowhere: the second table has 0 for it, and 1
        for the others. None stands for zeros, and for ones if that is known.
        """
        may_look, wide = self.may_look_of(query), accumulation_type(query.dtype)
        kind = wide, torch.is_grad_enabled()
        if kind not in self._added:
            added, some = None if self.bias is None else self.bias.to(wide), None
            if may_look is not None:
                some = may_look.any(dim=-1, keepdim=True)  # [B, H, Lq, 1]
                added = may_look.new_zeros((), dtype=wide) if added is None else added
                added = added.masked_fill(~may_look & some, -torch.inf)
                # Elsewhere the host would have to wait for the answer, and a compiler cannot know it.
                asked = query.device.type == "cpu" and not torch.compiler.is_compiling()
                some = None if asked and some.all() else some.to(wide)
            self._added[kind] = added, some
        return self._added[kind]

    @property
    def learned(self) -> tuple[Tensor, ...]:
        """What gets a gradient through the bias: the table, or what the position has learned."""
        if self.adds is None:
            return ()
        return (self.adds,) if isinstance(self.adds, Tensor) else tuple(self.adds.parameters())

    @property
    def is_causal(self) -> bool:
        """Whether it is known without looking that query i may look at the keys j ≤ i, and at no other."""
        causal = isinstance(self.mask, Window) and self.mask.left is None and self.mask.right == 0
        return self.counted and causal and self.query_positions.shape[-1] == self.key_positions.shape[-1]

    def part(self, queries: slice, keys: slice) -> Scope:
        """The same for a block of queries and keys."""
        mask = None if self.mask is None else Part(self.mask, queries.start, keys.start)
        adds = self.adds
        if isinstance(adds, Tensor):
            adds = adds[
                ..., queries if adds.shape[-2] > 1 else slice(None), keys if adds.shape[-1] > 1 else slice(None)
            ]
        places = None if self.places is None else self.places[..., queries]
        key_places = None if self.key_places is None else self.key_places[..., keys]
        at = self.query_positions[..., queries], self.key_positions[..., keys]
        return Scope(*at, mask, adds, places=places, key_places=key_places)

    def require_fit(self, n_queries: int, n_keys: int) -> None:
        """Make sure that the mask is one for so many queries and keys.

        Raises:
            ValueError: it is not; both numbers are named.
        """
        if self.mask is not None:
            agreed("queries", self.mask.extent.queries, n_queries)
            agreed("keys", self.mask.extent.keys, n_keys)

    def place(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Mark queries and new keys with their positions, where the encoding does so."""
        if self.rotate is None:
            return query, key
        places, _ = self.placed()
        new = self.key_positions if self.new_key_positions is None else self.new_key_positions
        return self.rotate(query, key, places, new)

    def seen_by(self, attention: nn.Module) -> Scope:
        """This, or the same under the mask that an observer puts into this attention."""
        mask = tap_mask(attention, self.mask)
        return self if mask is self.mask else replace(self, mask=mask)
