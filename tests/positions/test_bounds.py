"""Positions out of bounds are refused, on any device, and without a graph having to stop for it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions.bounds import require_within


@given(st.lists(st.integers(-3, 12), max_size=6), st.integers(1, 10))
def test_for_every_position_it_passes_if_and_only_if_within(positions, limit):
    wrong = [n for n in positions if not 0 <= n < limit]
    if wrong:
        with pytest.raises(ValueError, match=rf"^position {wrong[0]} is outside 0 to {limit - 1}: way out$"):
            require_within(torch.tensor(positions), limit, "way out")
    else:
        require_within(torch.tensor(positions, dtype=torch.int64), limit, "way out")


def test_where_reading_would_make_the_host_wait_nothing_is_read():
    """Tensors on "meta" have no values: whoever tried to read one would fail."""
    assert require_within(torch.zeros(2, 3, dtype=torch.int64, device="meta"), 4, "way out") is None


def test_a_compiled_graph_holds_the_check_itself():
    """No break in the graph, and yet a position that is too large is an error."""
    compiled = torch.compile(lambda x: (require_within(x, 4, "way out"), x + 1)[1], backend="eager", fullgraph=True)
    assert compiled(torch.tensor([0, 3])).tolist() == [1, 4]
    with pytest.raises(RuntimeError, match="a position is outside 0 to 3: way out"):
        compiled(torch.tensor([0, 4]))
