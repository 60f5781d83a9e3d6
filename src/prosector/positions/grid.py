"""Positions in a picture: a learned vector for each place of a grid (Dosovitskiy et al. 2021, section 3.1 and 3.2).

A place is (row, column), and need not be whole: between the grid's places the table is interpolated. So a picture of
another size keeps its meaning: its places are those of the grid it was trained on, only finer or coarser.

    place of row i of h, on a table of H rows:  (i + ½) H / h - ½
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.positions.base import Position


def places_of(grid: tuple[int, int], table: tuple[int, int]) -> Float[Tensor, "L 2"]:
    """(row, column) of each place of a grid, row by row, measured on a table of another size."""
    axes = [(torch.arange(n) + 0.5) * size / n - 0.5 for n, size in zip(grid, table, strict=True)]
    return torch.cartesian_prod(*axes).reshape(-1, 2)


class GridPosition(Position):
    """x + table[row, column], interpolated by cubics in between, the edge going on beyond it.

    It equals `F.interpolate(table, mode="bicubic")` on all places of another grid.
    """

    def __init__(self, d_model: int, height: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(d_model, height, width))

    def embed(self, x: Float[Tensor, "B L d"], positions: Float[Tensor, "L 2"]) -> Float[Tensor, "B L d"]:
        """Mark the last tokens with their places; those before them, such as a class token, have none."""
        height, width = self.table.shape[1:]
        size = positions.new_tensor([height, width])
        where = ((2 * positions + 1) / size - 1).flip(-1).to(self.table.dtype)  # grid_sample's: (x, y) in -1..1
        marks = F.grid_sample(
            self.table[None], where[None, None], mode="bicubic", padding_mode="border", align_corners=False
        )[0, :, 0].T  # [L, d]
        return x + F.pad(marks, (0, 0, x.shape[1] - len(marks), 0)).to(x.dtype)
