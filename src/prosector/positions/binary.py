"""Positions as binary numbers: the first idea one has, and a good one to see fail.

The first position is 1 = 001, the second 2 = 010, the third 3 = 011: every position has its
own code, and the code is added to the embedding. But neighbours may differ in many bits
(3 = 011, 4 = 100) while far ones differ in one, so the model cannot read distance off them.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.base import Position
from prosector.positions.bounds import require_within

# The widest number whose bits an int64 can hold without its sign; longer codes begin with zeros.
WIDEST = 62


def binary_code(positions: Int[Tensor, "*B L"], width: int) -> Float[Tensor, "*B L {width}"]:
    """The binary digits of position + 1, most significant first: ⌊(n + 1) / 2^(width−1−i)⌋ mod 2.

    Args:
        positions: counted from 0, as everywhere; the code counts from 1, so that none is all zeros.
        width: the number of digits.

    Raises:
        ValueError: a position needs more digits than there are.
    """
    largest = 2 ** min(width, WIDEST) - 1
    require_within(
        positions, largest, f"counted from 1, a code of {width} bits ends at {largest}; use a larger d_model"
    )
    places = torch.arange(width - 1, -1, -1, device=positions.device).clamp(max=WIDEST)  # [width]
    return ((positions.long()[..., None] + 1) >> places & 1).float()  # [*B, L, width]


class BinaryPosition(Position):
    """Adds to each embedding the binary code of its position, as many bits as it has features."""

    def embed(self, x: Float[Tensor, "B L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B L d"]:
        """x + binary_code(positions, d).

        Raises:
            ValueError: d bits are too few for a position.
        """
        return x + binary_code(positions, x.shape[-1]).to(x.dtype)
