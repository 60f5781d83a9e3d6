"""T5's relative positions: near distances have a bucket each, far ones share."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import T5Position, t5_bucket


@pytest.mark.parametrize("case", [0, 1])
def test_buckets_are_those_of_transformers(golden, case):
    reference = golden["t5_buckets"][case]
    sizes = {name: reference[name] for name in ("bidirectional", "num_buckets", "max_distance")}
    assert t5_bucket(torch.tensor(reference["key_minus_query"]), **sizes).tolist() == reference["bucket"]


def test_eight_buckets_one_way():
    """Distances 0 to 3 have a bucket each; those from 4 to 16 share four, each √2 times as wide as the one before.

    4 + ⌊4 · ln(n/4) / ln(16/4)⌋ is 4 for 4 and 5, 5 for 6 and 7, 6 for 8 to 11, 7 from 12 on.
    """
    buckets = t5_bucket(-torch.arange(20), bidirectional=False, num_buckets=8, max_distance=16)
    assert buckets.tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7]


def test_two_ways_the_future_has_the_second_half():
    """Eight buckets, so four a side: 0, 1 exact, then 2 and 3; a key after the query has 4 more."""
    buckets = t5_bucket(torch.arange(-3, 4), bidirectional=True, num_buckets=8, max_distance=16)
    assert buckets.tolist() == [2, 2, 1, 0, 5, 6, 6]


@given(st.integers(-5000, 5000), st.booleans(), st.sampled_from([4, 8, 32, 64]), st.sampled_from([40, 128, 1000]))
def test_for_every_distance_the_bucket_exists_and_grows_with_distance(n, bidirectional, num_buckets, max_distance):
    sizes = {"bidirectional": bidirectional, "num_buckets": num_buckets, "max_distance": max_distance}
    farther = n + 1 if n > 0 else n - 1
    bucket, next_bucket = t5_bucket(torch.tensor([n, farther]), **sizes).tolist()
    assert 0 <= bucket <= next_bucket < num_buckets
    if abs(n) >= max_distance and (bidirectional or n < 0):
        assert bucket == next_bucket


def test_one_way_the_future_is_all_one():
    buckets = t5_bucket(torch.arange(200), bidirectional=False)
    assert buckets.unique().tolist() == [0]


def test_each_head_adds_the_number_of_the_bucket():
    """Two heads; entry (i, j) is the table's row for j − i, a column a head."""
    position = T5Position(2, bidirectional=True, num_buckets=8, max_distance=16)
    bias = position.bias(torch.arange(3), torch.arange(3))
    rows = torch.tensor([[0, 5, 6], [1, 0, 5], [2, 1, 0]])
    assert bias.shape == (1, 2, 3, 3)
    for head in range(2):
        assert torch.equal(bias[0, head], position.table.weight[:, head][rows])


def test_rows_begin_small_and_learn():
    position = T5Position(64, bidirectional=False)
    assert float(position.table.weight.detach().std()) == pytest.approx(0.02, rel=0.1)
    position.bias(torch.arange(2), torch.arange(2)).sum().backward()
    assert position.table.weight.grad[:3, 0].tolist() == [3, 1, 0]  # distances 0, 0, 0 (the future) and 1


@given(st.booleans())
def test_for_every_shift_and_block_the_bias_is_that_of_the_distances(bidirectional):
    position = T5Position(3, bidirectional=bidirectional)
    whole = position.bias(torch.arange(40), torch.arange(40))
    assert torch.equal(position.bias(torch.arange(40) + 300, torch.arange(40) + 300), whole)
    assert torch.equal(position.bias(torch.tensor([39]), torch.arange(40)), whole[:, :, 39:])


def test_padding_on_the_left_gives_each_row_its_own_bias():
    position = T5Position(2, bidirectional=True)
    own = torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]])
    bias = position.bias(own, own)
    assert bias.shape == (2, 2, 4, 4)
    assert torch.equal(bias[1, :, 2:, 2:], position.bias(torch.arange(2), torch.arange(2))[0])


@pytest.mark.parametrize(
    "sizes, message",
    [
        ({"bidirectional": True, "num_buckets": 7}, "num_buckets is 7; with bidirectional=True .* even number"),
        ({"bidirectional": False, "num_buckets": 1}, "num_buckets is 1; with bidirectional=False .* at least 2"),
        ({"bidirectional": False, "max_distance": 16}, "max_distance is 16; it must be above 16"),
    ],
)
def test_buckets_that_cannot_be_shared_out_are_an_error(sizes, message):
    with pytest.raises(ValueError, match=message):
        T5Position(2, **sizes)
