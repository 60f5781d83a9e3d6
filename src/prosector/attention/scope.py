"""What the layers of a stack share in one forward pass: the mask, the positions, and the bias.

The stack makes one `Scope` for its self-attention and one for cross-attention; the layers
hand it to their attention. So a mask is made dense once, and a bias computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.attention.masks import Mask
from prosector.tap import tap_mask

Rotate = Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]


@dataclass
class Scope:
    """Which keys the queries of one forward pass may look at, and how positions take part.

    Attributes:
        query_positions: the real positions of the queries, [Lq] or [B, Lq].
        key_positions: those of all keys, the cached ones included, [Lk] or [B, Lk].
        mask: the rule; None lets everything look at everything.
        bias: what positions add to the scores, [1 or B, H, Lq, Lk].
        rotate: what positions do to (query, new keys, query positions, new keys' positions).
        new_key_positions: the positions of the keys computed in this pass; all of them without a cache.
        places: where the encoding takes the queries to be; their positions, unless an observer moved them.
    """

    query_positions: Int[Tensor, "*B Lq"]
    key_positions: Int[Tensor, "*B Lk"]
    mask: Mask | None = None
    bias: Float[Tensor, "B H Lq Lk"] | None = None
    rotate: Rotate | None = None
    new_key_positions: Int[Tensor, "*B Ln"] | None = None
    places: Int[Tensor, "*B Lq"] | None = None

    _dense: Bool[Tensor, "B H Lq Lk"] | None = field(default=None, init=False, repr=False)

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

    def place(self, query: Tensor, key: Tensor) -> tuple[Tensor, Tensor]:
        """Mark queries and new keys with their positions, where the encoding does so."""
        if self.rotate is None:
            return query, key
        places = self.query_positions if self.places is None else self.places
        new = self.key_positions if self.new_key_positions is None else self.new_key_positions
        return self.rotate(query, key, places, new)

    def seen_by(self, attention: nn.Module) -> Scope:
        """This, or the same under the mask that an observer puts into this attention."""
        mask = tap_mask(attention, self.mask)
        return self if mask is self.mask else replace(self, mask=mask)
