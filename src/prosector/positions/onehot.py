"""Positions as one-hot vectors: position n puts a 1 on feature n and nothing elsewhere.

No two codes share a feature and all are equally far from each other, so nothing is confused,
but nothing is near or far either, and there are only as many positions as features.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.base import Position
from prosector.positions.bounds import require_within


def one_hot(positions: Int[Tensor, "*B L"], width: int) -> Float[Tensor, "*B L {width}"]:
    """1 where feature = position, otherwise 0; positions count from 0.

    Raises:
        ValueError: a position is not less than the width.
    """
    require_within(positions, width, f"a one-hot code of {width} features has no more; use a larger d_model")
    return (positions[..., None] == torch.arange(width, device=positions.device)).float()  # [*B, L, width]


class OneHotPosition(Position):
    """Adds 1 to the feature whose number is the position."""

    def embed(self, x: Float[Tensor, "B L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B L d"]:
        """x + one_hot(positions, d).

        Raises:
            ValueError: a position is not less than d.
        """
        return x + one_hot(positions, x.shape[-1]).to(x.dtype)
