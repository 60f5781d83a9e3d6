"""Lines without their padding: the real tokens of a batch, one after the other.

    real    [[1, 1, 1],      padded  [[a, b, c],      packed  [[a, b, c, d]]
             [1, 0, 0]]               [d, -, -]]

Maps, norms and dropout treat each token for itself, and what they make of padding is thrown away. Only attention has to
know which tokens stand in a line: heads are spread out when they are split, which copies them anyway, and gathered when
they are laid side by side again.

    with without_padding():
        model.hidden(src, tgt)          as always, but that padding's rows are zeros

Shapes: B rows, L tokens of a line, N real tokens in all and a few zeros after them, H heads, d features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from prosector.attention import functional

FULL = 16  # N is a multiple of it: with some other numbers of rows products are slower


_wanted: ContextVar[bool] = ContextVar("prosector_without_padding", default=False)


@contextmanager
def without_padding(wanted: bool = True) -> Iterator[None]:
    """In here stacks let real tokens alone through their layers, where they know that it makes no difference.

    Args:
        wanted: False lets padding through again, inside of such a place.
    """
    before = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(before)


def padding_unwanted() -> bool:
    """Whether this is such a place."""
    return _wanted.get()


class Places(NamedTuple):
    """Who stands where.

    Attributes:
        packed: of each place of the padded batch, the packed row that stands there; none does if there is no such row.
        padded: of each packed row, its place; of those behind the last real one it means nothing.
        number: of rows that are real.
    """

    packed: Int[Tensor, " P"]
    padded: Int[Tensor, " N"]
    number: int


Way = Callable[[Tensor, Places], Tensor]


class Packing:
    """Where the real tokens of a batch stand.

    Args:
        real: which tokens are no padding, [B, L].

    Attributes:
        real: which packed ones are, [1, N].
        on_the_right: whether all padding stands behind its line's tokens.
    """

    def __init__(self, real: Bool[Tensor, "B L"]) -> None:
        self.rows, self.length = real.shape
        places = real.flatten().nonzero()[:, 0]
        count = len(places)
        size = count + -count % FULL
        padded = torch.zeros(size, dtype=torch.long, device=real.device)
        padded[:count] = places
        packed = torch.full((real.numel(),), size, device=real.device)
        packed[places] = torch.arange(count, device=real.device)
        self.tokens = Places(packed, padded, count)
        self.real = (torch.arange(size, device=real.device) < count)[None]
        self.on_the_right = bool((real[:, 1:] <= real[:, :-1]).all())
        self._heads: dict[int, Places] = {}

    def pack(self, x: Float[Tensor, "B L d"]) -> Float[Tensor, "1 N d"]:
        """The real tokens alone."""
        return gathering(x.flatten(0, 1), self.tokens)[None]

    def unpack(self, x: Float[Tensor, "1 N d"]) -> Float[Tensor, "B L d"]:
        """All tokens; padding becomes zeros."""
        return spreading(x[0], self.tokens).unflatten(0, (self.rows, self.length))

    def split_heads(self, x: Float[Tensor, "1 N Hd"], n_heads: int) -> Float[Tensor, "B H L d"]:
        """`functional.split_heads` of the padded batch."""
        heads = x.reshape(x.shape[1] * n_heads, -1)
        return spreading(heads, self.heads(n_heads)).unflatten(0, (self.rows, n_heads, self.length))

    def merge_heads(self, heads: Float[Tensor, "B H L d"]) -> Float[Tensor, "1 N Hd"]:
        """`functional.merge_heads` of the padded batch, and its real tokens alone."""
        return gathering(heads.flatten(0, 2), self.heads(heads.shape[1])).view(*self.real.shape, -1)

    def heads(self, n_heads: int) -> Places:
        """Where heads stand: packed as [N, H], padded as [B, H, L]."""
        if n_heads not in self._heads:
            packed, padded, count = self.tokens
            head = torch.arange(n_heads, device=packed.device)
            at = packed.view(self.rows, 1, self.length) * n_heads + head[:, None]
            row, column = padded[:, None] // self.length, padded[:, None] % self.length
            self._heads[n_heads] = Places(
                at.clamp(max=len(padded) * n_heads).flatten(),
                ((row * n_heads + head) * self.length + column).flatten(),
                count * n_heads,
            )
        return self._heads[n_heads]


# --- there and back --------------------------------------------------------------------------------------------------


def spread(packed: Float[Tensor, "N d"], places: Places) -> Float[Tensor, "P d"]:
    """Rows at their places, zeros elsewhere."""
    return torch.cat([packed, packed.new_zeros(1, packed.shape[1])]).index_select(0, places.packed)


def gather(padded: Float[Tensor, "P d"], places: Places) -> Float[Tensor, "N d"]:
    """The rows of their places, and zeros behind them."""
    packed = padded.index_select(0, places.padded)
    packed[places.number :] = 0
    return packed


class _Move(torch.autograd.Function):
    """`spread` or `gather`, each the other's way back; PyTorch's own would add up rows, one after the other."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, places: Places, there: Way, back: Way) -> Tensor:
        ctx.places, ctx.back = places, back
        return there(x, places)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.back(gradients[0], ctx.places), None, None, None


def spreading(packed: Tensor, places: Places) -> Tensor:
    """`spread`, with its way back."""
    return _Move.apply(packed, places, spread, gather)


def gathering(padded: Tensor, places: Places) -> Tensor:
    """`gather`, with its way back."""
    return _Move.apply(padded, places, gather, spread)


# --- of any batch ----------------------------------------------------------------------------------------------------


def split_heads(x: Tensor, n_heads: int, packing: Packing | None) -> Float[Tensor, "B H L d"]:
    """Cut the features into heads, of a packed batch or of one as it is."""
    return functional.split_heads(x, n_heads) if packing is None else packing.split_heads(x, n_heads)


def merge_heads(heads: Float[Tensor, "B H L d"], packing: Packing | None) -> Tensor:
    """Lay the heads side by side again, and pack them if their tokens were."""
    return functional.merge_heads(heads) if packing is None else packing.merge_heads(heads)
