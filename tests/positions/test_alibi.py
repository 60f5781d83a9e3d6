"""ALiBi: a score loses in proportion to the distance, in each head by its own slope."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import AlibiPosition, alibi_slopes

places = st.lists(st.integers(0, 10_000), min_size=1, max_size=6).map(torch.tensor)


@pytest.mark.parametrize("n_heads", ["4", "6", "8"])
def test_slopes_are_those_of_transformers(golden, n_heads):
    assert alibi_slopes(int(n_heads)).tolist() == golden["alibi_slopes"][n_heads]


def test_three_tokens_and_two_heads():
    """Slopes 2^(−8/2) = 1/16 and 2^(−16/2) = 1/256: two apart, the first head subtracts 1/8."""
    bias = AlibiPosition(2).bias(torch.arange(3), torch.arange(3))
    distances = torch.tensor([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    assert bias.shape == (1, 2, 3, 3)
    assert torch.equal(bias[0], torch.stack([-distances / 16, -distances / 256]))


@given(st.integers(1, 70))
def test_for_every_number_of_heads_each_has_its_own_slope_between_0_and_1(n_heads):
    slopes = alibi_slopes(n_heads)
    assert slopes.shape == (n_heads,)
    assert len(set(slopes.tolist())) == n_heads
    assert ((slopes > 0) & (slopes < 1)).all()


@given(places, st.integers(1, 12), st.integers(0, 10_000))
def test_for_every_two_positions_the_bias_is_symmetric_never_positive_and_the_same_when_shifted(where, heads, shift):
    position = AlibiPosition(heads)
    bias = position.bias(where, where)
    assert torch.equal(bias, bias.transpose(-2, -1))
    assert (bias <= 0).all()
    assert torch.equal(bias == 0, (where[:, None] == where).expand_as(bias))
    assert torch.equal(bias, position.bias(where + shift, where + shift))


def test_a_block_is_a_block_of_the_whole():
    """With a cache: one new query at position 5, all six keys."""
    position = AlibiPosition(4)
    whole = position.bias(torch.arange(6), torch.arange(6))
    assert torch.equal(position.bias(torch.tensor([5]), torch.arange(6)), whole[:, :, 5:])


def test_padding_on_the_left_gives_each_row_its_own_bias():
    own = torch.tensor([[0, 1, 2], [0, 0, 1]])
    bias = AlibiPosition(2).bias(own, own)
    assert bias.shape == (2, 2, 3, 3)
    assert (bias[1, 0] * -16).tolist() == [[0, 0, 1], [0, 0, 1], [1, 1, 0]]
    assert torch.equal(AlibiPosition(2).bias(torch.arange(3), own)[1], AlibiPosition(2).bias(own[0], own[1])[0])


def test_a_cast_model_keeps_its_slopes():
    """300 · 2^(−1/2) in bfloat16 would be off by a whole position."""
    far = torch.tensor([0, 257, 300])
    assert torch.equal(AlibiPosition(16).bfloat16().bias(far, far), AlibiPosition(16).bias(far, far))
    assert AlibiPosition(16).bfloat16().bias(far, far).dtype == torch.float32


def test_no_heads_are_an_error():
    with pytest.raises(ValueError, match="n_heads is 0"):
        AlibiPosition(0)


@pytest.mark.parametrize("n_heads", [1, 6, 8, 12])
def test_folded_it_is_the_same_for_every_key_that_is_not_ahead(n_heads):
    """Even where positions are large: the products cancel without being rounded."""
    position, where = AlibiPosition(n_heads), torch.tensor([[0, 1, 2, 700], [60_000, 60_001, 60_002, 65_000]])
    of_query, of_key = position.fold(where, where)
    assert [list(of_query.shape), list(of_key.shape)] == [[2, n_heads, 4, 4], [2, 1, 4, 4]]
    bias = position.bias(where, where)
    past = torch.ones(4, 4, dtype=torch.bool).tril()
    found = (of_query @ of_key.transpose(-2, -1)).masked_fill(~past, 0)
    torch.testing.assert_close(found, bias.masked_fill(~past, 0), rtol=1e-5, atol=1e-5)
