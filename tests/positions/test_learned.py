"""Learned positions: a table, and an end to it."""

import pytest
import torch

from prosector.positions import LearnedPosition


def test_each_position_adds_its_row():
    position = LearnedPosition(d_model=2, max_length=3)
    with torch.no_grad():
        position.table.weight.copy_(torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]))
    marked = position.embed(torch.ones(1, 2, 2), torch.tensor([2, 0]))
    assert marked.flatten().tolist() == pytest.approx([1.5, 1.6, 1.1, 1.2])


def test_padding_on_the_left_shifts_a_row():
    position = LearnedPosition(d_model=4, max_length=8)
    marked = position.embed(torch.zeros(2, 3, 4), torch.tensor([[0, 1, 2], [0, 0, 1]]))
    assert torch.equal(marked[1], position.table.weight[[0, 0, 1]])


def test_only_the_rows_that_were_used_learn():
    position = LearnedPosition(d_model=4, max_length=5)
    position.embed(torch.zeros(2, 2, 4), torch.tensor([1, 3])).sum().backward()
    assert position.table.weight.grad.tolist() == [[0] * 4, [2] * 4, [0] * 4, [2] * 4, [0] * 4]


def test_rows_begin_small():
    """Normal with deviation 0.02: of 20,000 numbers the deviation is that to within a few percent."""
    weight = LearnedPosition(d_model=100, max_length=200).table.weight.detach()
    assert float(weight.std()) == pytest.approx(0.02, rel=0.05)
    assert float(weight.mean()) == pytest.approx(0.0, abs=0.001)


def test_the_embedding_keeps_its_type():
    """As under autocast: the table is float32 and the embedding bfloat16."""
    x = torch.zeros(1, 2, 4, dtype=torch.bfloat16)
    assert LearnedPosition(d_model=4).embed(x, torch.arange(2)).dtype == torch.bfloat16


@pytest.mark.parametrize("wrong", [8, -1])
def test_a_position_beyond_the_table_is_named_with_the_limit(wrong):
    position = LearnedPosition(d_model=4, max_length=8)
    with pytest.raises(ValueError, match=rf"position {wrong} is outside 0 to 7: .*max_length = 8 rows; shorten"):
        position.embed(torch.zeros(1, 3, 4), torch.tensor([[0, wrong, 1]]))


def test_a_table_without_rows_is_an_error():
    with pytest.raises(ValueError, match="max_length is 0"):
        LearnedPosition(d_model=4, max_length=0)
