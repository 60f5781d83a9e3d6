"""Positions in a picture: a table as it is, and interpolated for pictures of another size."""

import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import GridPosition, places_of

sizes = st.tuples(st.integers(1, 6), st.integers(1, 6))


def marks_of(position, grid):
    """What is added at each place of a grid, [d, h, w]."""
    table = tuple(position.table.shape[1:])
    marked = position.embed(torch.zeros(1, grid[0] * grid[1], len(position.table)).double(), places_of(grid, table))
    return marked[0].T.unflatten(1, grid)


@given(sizes, st.integers(1, 4), st.integers(0, 99))
def test_on_the_grid_it_was_made_for_a_place_has_its_vector(grid, d, seed):
    torch.manual_seed(seed)
    position = GridPosition(d, *grid).double()
    torch.testing.assert_close(marks_of(position, grid), position.table, rtol=0, atol=1e-6)


@given(sizes, sizes, st.integers(0, 99))
def test_for_every_other_grid_it_is_interpolated_as_pytorch_does(table, grid, seed):
    torch.manual_seed(seed)
    position = GridPosition(3, *table).double()
    wanted = F.interpolate(position.table[None], size=grid, mode="bicubic", align_corners=False)[0]
    torch.testing.assert_close(marks_of(position, grid), wanted, rtol=0, atol=1e-6)


def test_half_way_between_two_rows_it_is_between_their_vectors():
    """A picture twice as fine: -0.25 and 0.25 around row 0, 0.75 and 1.25 around row 1; nearly so on a rising table."""
    assert places_of((4, 1), (2, 1))[:, 0].tolist() == [-0.25, 0.25, 0.75, 1.25]
    position = GridPosition(1, 6, 1)
    with torch.no_grad():
        position.table.copy_(torch.arange(6.0)[None, :, None])
    finer = position.embed(torch.zeros(1, 12, 1), places_of((12, 1), (6, 1)))[0, :, 0]
    torch.testing.assert_close(finer[4:8], torch.tensor([1.75, 2.25, 2.75, 3.25]), rtol=0, atol=0.05)


def test_tokens_before_the_grid_have_no_place():
    position, x = GridPosition(2, 2, 2), torch.zeros(1, 6, 2)
    marked = position.embed(x, places_of((2, 2), (2, 2)))
    assert (marked[0, :2] == 0).all()
    torch.testing.assert_close(marked[0, 2:].T.unflatten(1, (2, 2)), position.table, rtol=0, atol=1e-6)
