"""Binary positions: 001, 010, 011."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import BinaryPosition, binary_code


def test_three_positions_get_the_codes_of_one_two_three():
    """The first position is 1 = 001, as codes count from 1; the most significant bit stands first."""
    assert binary_code(torch.arange(3), 3).tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 1]]


def test_the_codes_are_added_to_the_embeddings():
    x = torch.tensor([[[0.5, 1.0, 0.1], [0.2, 0.3, 0.9], [1.4, 0.0, 0.7]]])
    marked = BinaryPosition().embed(x, torch.arange(3))
    assert marked[0].flatten().tolist() == pytest.approx([0.5, 1.0, 1.1, 0.2, 1.3, 0.9, 1.4, 1.0, 1.7])


def test_padding_on_the_left_shifts_a_row():
    """Each row has positions of its own: the second begins one place later."""
    marked = BinaryPosition().embed(torch.zeros(2, 3, 3), torch.tensor([[0, 1, 2], [0, 0, 1]]))
    assert marked[1].tolist() == [[0, 0, 1], [0, 0, 1], [0, 1, 0]]
    assert marked[0].tolist() == [[0, 0, 1], [0, 1, 0], [0, 1, 1]]


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=4), st.integers(42, 80))
def test_for_every_position_the_digits_read_as_its_number(positions, width):
    digits = binary_code(torch.tensor(positions), width)
    assert [int("".join(str(int(d)) for d in row), 2) for row in digits.tolist()] == [n + 1 for n in positions]


def test_a_position_with_too_many_bits_is_named():
    """Three bits count to 7 = 111, the code of position 6; position 7 would be 1000."""
    assert binary_code(torch.tensor([6]), 3).tolist() == [[1, 1, 1]]
    with pytest.raises(ValueError, match=r"position 7 is outside 0 to 6: .* 3 bits ends at 7; use a larger d_model"):
        binary_code(torch.tensor([6, 7]), 3)
