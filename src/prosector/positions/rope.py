"""Rotary positions: turn queries and keys by an angle that grows with their position.

A query at position m turned by mθ and a key at n turned by nθ meet at the angle (m − n)θ, so their
dot product knows the distance and nothing else of the positions. Nothing is added to the
embeddings, and values are left alone.

Shapes: B batch, H heads (queries and keys may have different numbers), L positions, d features of a head.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.base import Position
from prosector.positions.pairs import Layout, for_layout
from prosector.positions.sinusoidal import angles, inverse_frequencies


def rotate_interleaved(
    x: Float[Tensor, "*B L d"], cos: Float[Tensor, "*#B L d/2"], sin: Float[Tensor, "*#B L d/2"]
) -> Float[Tensor, "*B L d"]:
    """Turn the pairs (0, 1), (2, 3), …: (a, b) becomes (a·cos − b·sin, a·sin + b·cos)."""
    a, b = x[..., 0::2], x[..., 1::2]  # [*B, L, d/2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)  # [*B, L, d]


def rotate_half_split(
    x: Float[Tensor, "*B L d"], cos: Float[Tensor, "*#B L d/2"], sin: Float[Tensor, "*#B L d/2"]
) -> Float[Tensor, "*B L d"]:
    """Turn the pairs (0, d/2), (1, d/2 + 1), …: (a, b) becomes (a·cos − b·sin, a·sin + b·cos)."""
    a, b = x.chunk(2, dim=-1)  # [*B, L, d/2]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)  # [*B, L, d]


def reorder_rows(weight: Float[Tensor, "rows *d_in"], d_head: int, *, source: Layout, target: Layout) -> Tensor:
    """The weight (or bias) of W_q or W_k, for a model of another layout: same scores, features in another order.

    Within each head, half-split row j is interleaved row 2j, and half-split row d/2 + j is row 2j + 1.

    Args:
        weight: `[heads·d_head, d_in]`, or a bias `[heads·d_head]`.
        d_head: features of a head.
        source: the layout that the weight was made for.
        target: the layout that it is wanted for.

    Raises:
        ValueError: d_head is odd, or does not divide the rows; or there is no such layout.
    """
    require_even(d_head)
    if len(weight) % d_head:
        raise ValueError(f"{len(weight)} rows cannot be heads of {d_head} rows each")
    place = torch.arange(d_head, device=weight.device)
    split = place.view(-1, 2).T.flatten()  # 0, 2, 4, …, 1, 3, 5, …: each half-split row's place among interleaved ones
    interleaved_to = for_layout(target, interleaved=place, half_split=split)
    to_interleaved = for_layout(source, interleaved=place, half_split=split.argsort())
    heads = weight.unflatten(0, (-1, d_head))  # [heads, d_head, *d_in]
    return heads[:, to_interleaved][:, interleaved_to].flatten(0, 1)  # [heads·d_head, *d_in]


def require_even(d_head: int) -> None:
    """Features turn in pairs, so a head has an even number of them.

    Raises:
        ValueError: it has not.
    """
    if d_head < 2 or d_head % 2:
        raise ValueError(f"rotary positions turn pairs of features, so d_head must be even; it is {d_head}")


class RotaryPosition(Position):
    """Turns each pair j of features by position × theta^(−2j/d), in queries and keys alike.

    Args:
        d_head: features of a head; even.
        theta: the base: a larger one makes the slowest pairs slower, for longer texts.
        layout: which features make a pair.

    Raises:
        ValueError: d_head is odd, or there is no such layout.

    Source: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2.
    """

    def __init__(self, d_head: int, theta: float = 10000.0, layout: Layout = "half-split") -> None:
        super().__init__()
        require_even(d_head)
        self.d_head = d_head
        self.theta = theta
        self.layout = layout
        self.turn = for_layout(layout, interleaved=rotate_interleaved, half_split=rotate_half_split)

    # Frequencies are computed anew in each pass: a buffer of them would be rounded by `model.bfloat16()`.
    def frequencies(self, dtype: torch.dtype, device: torch.device) -> Float[Tensor, " d/2"]:
        """The angle by which each pair turns from one position to the next."""
        return inverse_frequencies(self.d_head, self.theta, dtype=dtype, device=device)

    def cos_sin(
        self, positions: Int[Tensor, "*B L"], dtype: torch.dtype
    ) -> tuple[Float[Tensor, "*B 1 L d/2"], Float[Tensor, "*B 1 L d/2"]]:
        """Cosine and sine of each position's angles, the same for all heads; float64 for float64, otherwise float32."""
        wide = torch.promote_types(dtype, torch.float32)
        turned = angles(positions, self.frequencies(wide, positions.device)).unsqueeze(-3)  # [*B, 1, L, d/2]
        return turned.cos(), turned.sin()

    def rotate(
        self,
        query: Float[Tensor, "B H Lq d"],
        key: Float[Tensor, "B Hkv Lk d"],
        query_positions: Int[Tensor, "*B Lq"],
        key_positions: Int[Tensor, "*B Lk"],
    ) -> tuple[Float[Tensor, "B H Lq d"], Float[Tensor, "B Hkv Lk d"]]:
        """Queries and keys, each turned by its own positions' angles.

        Raises:
            ValueError: their heads do not have d_head features.
        """
        return self._turned(query, query_positions), self._turned(key, key_positions)

    def _turned(self, x: Float[Tensor, "B H L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B H L d"]:
        if x.shape[-1] != self.d_head:
            raise ValueError(f"these rotary positions turn heads of {self.d_head} features, not of {x.shape[-1]}")
        cos, sin = self.cos_sin(positions, x.dtype)
        return self.turn(x, cos.to(x.dtype), sin.to(x.dtype))
