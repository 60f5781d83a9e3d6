"""A token's number becomes a row of a table, times √d."""

import pytest
import torch

from prosector.blocks import TokenEmbedding


def test_it_is_the_row_times_the_root():
    embedding = TokenEmbedding(5, 4)
    ids = torch.tensor([[3, 0], [1, 3]])
    torch.testing.assert_close(embedding(ids), embedding.weight[ids] * 2)  # √4


@pytest.mark.parametrize("d_model", [16, 256])
def test_what_goes_in_is_as_large_whatever_the_width(d_model):
    assert TokenEmbedding(2000, d_model)(torch.arange(2000)[None]).std().item() == pytest.approx(0.5, rel=0.05)
