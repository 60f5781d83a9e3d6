"""What may look at what: masks as rules, made dense only where a kernel needs them.

A `Mask` is an elementwise rule of (batch row, query, key): it can be asked about one pair, about
a block, or about all. *May look* is True. Rules about order (causal, window, prefix) compare
the real positions, so they stay right with a cache and with padding on the left; rules about
particular tokens (keys, padding, dense) go by the token's place in the tensor.

    Mask.causal() & Mask.padding(lengths)                a decoder over a padded batch
    Mask.window(128, 0) | Mask.keys(positions < 4)       look back 128, and always at the first 4
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class Pairs(NamedTuple):
    """Query-key pairs, as indices that broadcast to [B, H, Lq, Lk] (or single ones, inside FlexAttention)."""

    batch: Tensor
    head: Tensor
    query: Tensor
    key: Tensor
    query_position: Tensor
    key_position: Tensor


class Extent(NamedTuple):
    """The sizes a mask is made for: 1 row or head where all are alike, None where any number will do."""

    rows: int = 1
    heads: int = 1
    queries: int | None = None
    keys: int | None = None


class Mask(ABC):
    """An elementwise rule that says which key each query may look at."""

    extent = Extent()

    @abstractmethod
    def allows(self, pairs: Pairs) -> Bool[Tensor, "..."]:
        """Whether the query of each pair may look at its key."""

    def may_look(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> Bool[Tensor, "B H Lq Lk"]:
        """The rule made dense, [B, H, Lq, Lk], with 1 for B or H where they make no difference.

        Raises:
            ValueError: the mask was made for another number of rows, queries or keys; both are named.
        """
        query_positions, key_positions = torch.atleast_2d(query_positions), torch.atleast_2d(key_positions)
        made_for = self.extent
        rows, heads = agreed("rows", made_for.rows, len(query_positions), len(key_positions)), made_for.heads
        agreed("queries", made_for.queries, query_positions.shape[1])
        agreed("keys", made_for.keys, key_positions.shape[1])

        index = partial(torch.arange, device=query_positions.device)
        pairs = Pairs(
            batch=index(rows)[:, None, None, None],
            head=index(heads)[None, :, None, None],
            query=index(query_positions.shape[1])[None, None, :, None],
            key=index(key_positions.shape[1])[None, None, None, :],
            query_position=query_positions[:, None, :, None],
            key_position=key_positions[:, None, None, :],
        )
        allowed = self.allows(pairs)
        return allowed.expand(*allowed.shape[:2], query_positions.shape[1], key_positions.shape[1])

    def __and__(self, other: Mask) -> Mask:
        """Allowed by both."""
        return Both(self, other)

    def __or__(self, other: Mask) -> Mask:
        """Allowed by either."""
        return Either(self, other)

    @staticmethod
    def causal() -> Mask:
        """Itself and the past: key position ≤ query position."""
        return Window(left=None, right=0)

    @staticmethod
    def window(left: int | None, right: int | None) -> Mask:
        """Itself, `left` positions back and `right` ahead; None is without end.

        Raises:
            ValueError: a negative number.
        """
        for name, reach in (("left", left), ("right", right)):
            if reach is not None and reach < 0:
                raise ValueError(f"Mask.window: {name}={reach} is negative; a window includes the query itself")
        return Window(left, right)

    @staticmethod
    def prefix(n: int | Int[Tensor, " B"]) -> Mask:
        """The first n positions see each other, the rest is causal (a prefix language model)."""
        return Prefix(n)

    @staticmethod
    def keys(real: Bool[Tensor, "B Lk"]) -> Mask:
        """Only the keys that are True; the others are padding, wherever it stands."""
        if real.dtype != torch.bool or real.ndim != 2:
            raise ValueError(f"Mask.keys takes bool [B, Lk], not {real.dtype} {list(real.shape)}")
        return Keys(real)

    @staticmethod
    def padding(lengths: Int[Tensor, " B"], total: int | None = None) -> Mask:
        """Only the first `lengths[b]` keys of row b; `total` keys there are, or as many as the longest row."""
        longest = int(lengths.max()) if total is None else total
        return Keys(torch.arange(longest, device=lengths.device) < lengths[:, None])

    @staticmethod
    def dense(may_look: Bool[Tensor, "*B Lq Lk"]) -> Mask:
        """Any table: [Lq, Lk], [B, Lq, Lk] or [B, H, Lq, Lk]; True may look."""
        if may_look.dtype != torch.bool:
            raise ValueError(f"Mask.dense takes bool (True may look), not {may_look.dtype}; compare with 0 first")
        if may_look.ndim not in (2, 3, 4):
            raise ValueError(f"Mask.dense takes 2 to 4 dimensions, [B, H, Lq, Lk], not {list(may_look.shape)}")
        table = may_look[:, None] if may_look.ndim == 3 else may_look
        return Dense(table if table.ndim == 4 else table[None, None])

    @staticmethod
    def from_torch_nn(
        attn_mask: Bool[Tensor, "*BH Lq Lk"] | Float[Tensor, "*BH Lq Lk"] | None = None,
        key_padding_mask: Bool[Tensor, "B Lk"] | Float[Tensor, "B Lk"] | None = None,
        n_heads: int = 1,
    ) -> Mask | None:
        """Turn torch.nn's masks around: there True is *forbidden*, and floats are added (0 or -inf).

        Args:
            attn_mask: [Lq, Lk] for all, or [B·n_heads, Lq, Lk], the heads of a row one after the other.

        Raises:
            ValueError: a float mask that holds anything but 0 and -inf is a bias, not a mask; or the first of
                three dimensions is no multiple of n_heads.
        """
        table = None
        if attn_mask is not None:
            forbidden = forbidden_in(attn_mask, "attn_mask")
            if attn_mask.ndim == 3:
                if len(attn_mask) % n_heads:
                    raise ValueError(f"attn_mask has {len(attn_mask)} tables, which {n_heads} heads do not divide")
                forbidden = forbidden.unflatten(0, (-1, n_heads))
            table = Mask.dense(~forbidden)
        real = None if key_padding_mask is None else Mask.keys(~forbidden_in(key_padding_mask, "key_padding_mask"))
        return table & real if table is not None and real is not None else table or real

    def to_torch_nn(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"], n_heads: int = 1
    ) -> Bool[Tensor, "*BH Lq Lk"]:
        """torch.nn's attn_mask, True where *forbidden*: [B·n_heads, Lq, Lk], or [Lq, Lk] where one table serves all."""
        may_look = self.may_look(query_positions, key_positions)
        if may_look.shape[:2] == (1, 1):
            return ~may_look[0, 0]
        return ~may_look.expand(-1, agreed("heads", may_look.shape[1], n_heads), -1, -1).flatten(0, 1)


def forbidden_in(mask: Tensor, name: str) -> Bool[Tensor, "..."]:
    """Where one of torch.nn's masks, of bools or of floats to be added, forbids."""
    forbidden = mask if mask.dtype == torch.bool else mask == -torch.inf
    if mask.dtype != torch.bool and not (forbidden | (mask == 0)).all():
        raise ValueError(f"{name} holds floats besides 0 and -inf: that is a bias on the scores, not a mask")
    return forbidden


def pick(table: Tensor, *index: Tensor) -> Tensor:
    """table[index], where a dimension of size 1 stands for every index."""
    return table[tuple(i if size > 1 else torch.zeros_like(i) for i, size in zip(index, table.shape, strict=True))]


def agreed(what: str, *sizes: int | None) -> Any:
    """The one size that all of them are; None, and 1 of rows or heads, stand for any.

    Raises:
        ValueError: there are two.
    """
    several = [size for size in sizes if size is not None and (size != 1 or what in ("queries", "keys"))]
    for size in several[1:]:
        if size != several[0]:
            raise ValueError(f"a mask for {several[0]} {what} meets {size}; make it for the {what} of this call")
    return several[0] if several else sizes[0]


def joined(first: Extent, second: Extent) -> Extent:
    """The extent of two masks together."""
    return Extent(*(agreed(what, *sizes) for what, *sizes in zip(Extent._fields, first, second, strict=True)))


@dataclass(frozen=True, eq=False)
class Both(Mask):
    """What two masks both allow."""

    first: Mask
    second: Mask

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return joined(self.first.extent, self.second.extent)

    def allows(self, pairs: Pairs) -> Tensor:
        return self.first.allows(pairs) & self.second.allows(pairs)


@dataclass(frozen=True, eq=False)
class Either(Mask):
    """What at least one of two masks allows."""

    first: Mask
    second: Mask

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return joined(self.first.extent, self.second.extent)

    def allows(self, pairs: Pairs) -> Tensor:
        return self.first.allows(pairs) | self.second.allows(pairs)


@dataclass(frozen=True, eq=False)
class Window(Mask):
    """-left ≤ key position - query position ≤ right."""

    left: int | None
    right: int | None

    def allows(self, pairs: Pairs) -> Tensor:
        ahead = pairs.key_position - pairs.query_position
        allowed = torch.ones_like(ahead, dtype=torch.bool)
        if self.left is not None:
            allowed = allowed & (ahead >= -self.left)
        if self.right is not None:
            allowed = allowed & (ahead <= self.right)
        return allowed


@dataclass(frozen=True, eq=False)
class Prefix(Mask):
    """Key position < n, or in the past; n may differ from row to row."""

    n: int | Tensor

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return Extent(rows=len(self.n) if isinstance(self.n, Tensor) else 1)

    def allows(self, pairs: Pairs) -> Tensor:
        n = pick(self.n, pairs.batch) if isinstance(self.n, Tensor) else self.n
        return (pairs.key_position < n) | (pairs.key_position <= pairs.query_position)


@dataclass(frozen=True, eq=False)
class Keys(Mask):
    """Particular keys of each row."""

    real: Tensor  # [B, Lk]

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return Extent(rows=self.real.shape[0], keys=self.real.shape[1])

    def allows(self, pairs: Pairs) -> Tensor:
        return pick(self.real, pairs.batch, pairs.key)


@dataclass(frozen=True, eq=False)
class Dense(Mask):
    """A table of pairs."""

    table: Tensor  # [B or 1, H or 1, Lq, Lk]

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return Extent(*self.table.shape)

    def allows(self, pairs: Pairs) -> Tensor:
        return pick(self.table, pairs.batch, pairs.head, pairs.query, pairs.key)
