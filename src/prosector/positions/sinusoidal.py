"""Positions as hands of many clocks: the sinusoids of the first Transformer.

Each pair of features is the hand of a clock (sin, cos), and each clock is slower than the one
before: the first turns once in 2π positions, the last in nearly 10000 · 2π. To go k positions on is
to turn each hand by a fixed angle, whatever the position: that is how distance becomes legible,
and what RoPE later does to queries and keys themselves.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.base import Position
from prosector.positions.pairs import Layout, for_layout


def inverse_frequencies(
    d: int, base: float = 10000.0, *, dtype: torch.dtype = torch.float32, device: torch.device | None = None
) -> Float[Tensor, " pairs"]:
    """The angle by which each pair of features turns from one position to the next: base^(−2j/d), j = 0 … ⌈d/2⌉−1.

    The first pair turns by 1 radian, each later one more slowly.
    """
    return base ** (-torch.arange(0, d, 2, dtype=dtype, device=device) / d)


def angles(positions: Int[Tensor, "*B L"], frequencies: Float[Tensor, " pairs"]) -> Float[Tensor, "*B L pairs"]:
    """position × frequency, in the type of the frequencies.

    That type is never below float32: bfloat16 has 8 bits of precision, and would turn position 257 into 256.
    """
    return positions[..., None].to(frequencies.dtype) * frequencies  # [*B, L, pairs]


def interleave(sines: Float[Tensor, "*B L pairs"], cosines: Float[Tensor, "*B L pairs"]) -> Float[Tensor, "*B L d"]:
    """sin, cos, sin, cos, …"""
    return torch.stack([sines, cosines], dim=-1).flatten(-2)  # [*B, L, 2·pairs]


def concatenate(sines: Float[Tensor, "*B L pairs"], cosines: Float[Tensor, "*B L pairs"]) -> Float[Tensor, "*B L d"]:
    """All sines, then all cosines."""
    return torch.cat([sines, cosines], dim=-1)  # [*B, L, 2·pairs]


def sinusoid(
    positions: Int[Tensor, "*B L"],
    d_model: int,
    layout: Layout = "interleaved",
    *,
    base: float = 10000.0,
    dtype: torch.dtype = torch.float32,
) -> Float[Tensor, "*B L {d_model}"]:
    """sin(n / 10000^(2⌊i/2⌋/d)) on the even features i, the cosine of the same angle on the odd ones.

    With the layout "half-split", the same numbers with all sines first: [sin ‖ cos]. An odd d leaves the
    last sine without its cosine.

    Some texts print the divisor as 10^(8i/d) with i counted per feature. Counted per pair, that is
    10000^(2i/d), the same as here; counted per feature it is another curve, in which a sine and the cosine
    beside it turn at different speeds and are no clock's hand. Others (Tensor2Tensor, fairseq) divide the
    exponent by d/2 − 1 instead of d/2, which is a third.

    Args:
        positions: counted from 0.
        d_model: the number of features, odd or even.
        layout: where a sine has its cosine, beside it or half a vector on.
        base: 10000 in the paper.
        dtype: of angles and result; float32 or float64.

    Raises:
        ValueError: there is no such layout.

    Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.5.
    """
    join = for_layout(layout, interleaved=interleave, half_split=concatenate)
    turned = angles(positions, inverse_frequencies(d_model, base, dtype=dtype, device=positions.device))
    return join(turned.sin(), turned.cos())[..., :d_model]  # [*B, L, d_model]


class SinusoidalPosition(Position):
    """Adds to each embedding the sinusoid of its position.

    Args:
        layout: "interleaved" as in the paper, or "half-split" as in Marian.

    Raises:
        ValueError: there is no such layout.
    """

    def __init__(self, layout: Layout = "interleaved") -> None:
        super().__init__()
        for_layout(layout, interleaved=None, half_split=None)  # a wrong name is an error here, not in the first forward
        self.layout = layout

    def embed(self, x: Float[Tensor, "B L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B L d"]:
        """x + sinusoid(positions, d); the angles are float64 for a float64 x, otherwise float32."""
        dtype = torch.promote_types(x.dtype, torch.float32)
        return x + sinusoid(positions, x.shape[-1], self.layout, dtype=dtype).to(x.dtype)
