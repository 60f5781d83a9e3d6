"""Rotary positions: queries and keys turn, and their dot products see the distance only."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import RotaryPosition, reorder_rows, rotate_half_split, rotate_interleaved

layouts = st.sampled_from(["interleaved", "half-split"])
places = st.integers(0, 4000)


def test_a_quarter_turn_takes_a_b_to_minus_b_a():
    """cos 90° = 0 and sin 90° = 1, so (a, b) becomes (−b, a). Interleaved, the pairs are (1, 2) and (3, 4)."""
    x, cos, sin = torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.zeros(1, 2), torch.ones(1, 2)
    assert rotate_interleaved(x, cos, sin).tolist() == [[-2, 1, -4, 3]]


def test_half_split_the_pairs_are_half_a_vector_apart():
    """The pairs of 1 2 3 4 are (1, 3) and (2, 4)."""
    x, cos, sin = torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.zeros(1, 2), torch.ones(1, 2)
    assert rotate_half_split(x, cos, sin).tolist() == [[-3, -4, 1, 2]]


def test_position_two_turns_by_two_radians_and_by_two_hundredths():
    """Four features, so θ = 1 and 10000^(−2/4) = 0.01: a pair (1, 0) becomes (cos 2θ, sin 2θ)."""
    query = torch.tensor([1.0, 0.0, 1.0, 0.0]).view(1, 1, 1, 4)
    turned, _ = RotaryPosition(4, layout="interleaved").rotate(query, query, torch.tensor([2]), torch.tensor([2]))
    assert turned.flatten().tolist() == pytest.approx([math.cos(2), math.sin(2), math.cos(0.02), math.sin(0.02)])


@given(places, places, places, st.integers(1, 5), layouts)
def test_for_every_two_positions_the_dot_product_depends_on_their_distance_only(m, n, shift, half, layout):
    query, key = torch.randn(2, 1, 1, 1, 2 * half, dtype=torch.float64)
    rope = RotaryPosition(2 * half, layout=layout)

    def score(query_place, key_place):
        turned_query, turned_key = rope.rotate(query, key, torch.tensor([query_place]), torch.tensor([key_place]))
        return float((turned_query * turned_key).sum())

    assert score(m, n) == pytest.approx(score(m + shift, n + shift), abs=1e-10)
    assert score(m, m) == pytest.approx(float((query * key).sum()), abs=1e-10)


def test_two_arrows_meet_at_the_angle_of_their_distance():
    """A query (1, 0) at position 5 and keys (1, 0) and (0, 1) at position 3: products cos 2 and sin 2."""
    query, keys = torch.tensor([1.0, 0.0]).view(1, 1, 1, 2), torch.eye(2).view(1, 1, 2, 2)
    turned_query, turned_keys = RotaryPosition(2).rotate(query, keys, torch.tensor([5]), torch.tensor([3, 3]))
    scores = turned_query @ turned_keys.transpose(-2, -1)
    assert scores.flatten().tolist() == pytest.approx([math.cos(2), math.sin(2)], abs=1e-6)


def test_a_larger_base_makes_slower_pairs():
    """Of four features the second pair turns by θ^(−2/4): 0.1 for θ = 100, and 0.001 for θ = 1,000,000."""
    for theta, speed in ((100.0, 0.1), (1e6, 0.001)):
        frequencies = RotaryPosition(4, theta).frequencies(torch.float64, torch.device("cpu"))
        assert frequencies.tolist() == pytest.approx([1, speed])


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4))
def test_for_every_weight_the_layouts_agree_once_rows_are_reordered(heads, kv_heads, half):
    """The same x, W_q and W_k with biases: scores under one layout are those under the other."""
    d, d_model, length = 2 * half, 5, 4
    x = torch.randn(length, d_model, dtype=torch.float64)
    w_q, w_k = (torch.randn(h * d, d_model, dtype=torch.float64) for h in (heads, kv_heads))
    b_q = torch.randn(heads * d, dtype=torch.float64)

    def scores(layout, w_q, b_q, w_k):
        query = (x @ w_q.T + b_q).view(1, length, heads, d).transpose(1, 2)
        key = (x @ w_k.T).view(1, length, kv_heads, d).transpose(1, 2)
        query, key = RotaryPosition(d, layout=layout).rotate(query, key, torch.arange(length), torch.arange(length))
        return query[:, :, None] @ key[:, None].transpose(-2, -1)  # every query head with every key head

    change = {"source": "interleaved", "target": "half-split"}
    reordered = [reorder_rows(weight, d, **change) for weight in (w_q, b_q, w_k)]
    expected = scores("interleaved", w_q, b_q, w_k)
    torch.testing.assert_close(scores("half-split", *reordered), expected, atol=1e-10, rtol=0)

    back = reorder_rows(reordered[0], d, source="half-split", target="interleaved")
    assert torch.equal(back, w_q)
    assert torch.equal(reorder_rows(w_q, d, source="half-split", target="half-split"), w_q)


def test_rows_of_two_heads_are_reordered_within_each():
    """Pairs (0, 1), (2, 3) of a head of four become (0, 2), (1, 3): its rows come in the order 0 2 1 3."""
    rows = reorder_rows(torch.arange(8), 4, source="interleaved", target="half-split")
    assert rows.tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_rows_that_are_no_whole_heads_are_an_error():
    with pytest.raises(ValueError, match="6 rows cannot be heads of 4 rows each"):
        reorder_rows(torch.zeros(6, 3), 4, source="interleaved", target="half-split")


@given(layouts)
def test_for_every_row_with_padding_on_the_left_its_own_positions_count(layout):
    """Eight query heads and two key heads; the second row is padded on the left by two."""
    query, key = torch.randn(2, 8, 4, 6), torch.randn(2, 2, 4, 6)
    rope = RotaryPosition(6, layout=layout)
    own = torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]])
    turned_query, turned_key = rope.rotate(query, key, own, own)
    alone_query, alone_key = rope.rotate(query[1:, :, 2:], key[1:, :, 2:], torch.arange(2), torch.arange(2))
    assert turned_key.shape == key.shape
    torch.testing.assert_close(turned_query[1:, :, 2:], alone_query)
    torch.testing.assert_close(turned_key[1:, :, 2:], alone_key)


def test_with_a_cache_only_the_new_token_turns():
    """Its position is its real one, so it turns as it would have in the whole sequence."""
    query, key = torch.randn(2, 1, 3, 5, 4)
    query, key = query[None], key[None]
    rope = RotaryPosition(4)
    whole_query, whole_key = rope.rotate(query[0], key[0], torch.arange(5), torch.arange(5))
    new = torch.tensor([[4]])
    new_query, new_key = rope.rotate(query[0][:, :, 4:], key[0][:, :, 4:], new, new)
    assert torch.equal(new_query, whole_query[:, :, 4:])
    assert torch.equal(new_key, whole_key[:, :, 4:])


@given(layouts)
def test_bfloat16_would_make_256_and_257_one_position(layout):
    """The angles are float32 also in a model that was cast, so the result is the true one, rounded."""
    query = torch.ones(1, 1, 2, 4)
    far = torch.tensor([256, 257])
    true, _ = RotaryPosition(4, layout=layout).rotate(query, query, far, far)
    rope = RotaryPosition(4, layout=layout).bfloat16()
    turned, _ = rope.rotate(query.bfloat16(), query.bfloat16(), far, far)
    assert turned.dtype == torch.bfloat16
    torch.testing.assert_close(turned.float(), true, atol=0.02, rtol=0)


@given(st.integers(-1, 9).filter(lambda d: d < 2 or d % 2))
def test_for_every_odd_head_size_the_error_says_so(d_head):
    with pytest.raises(ValueError, match=rf"d_head must be even; it is {d_head}"):
        RotaryPosition(d_head)


def test_heads_of_another_size_are_an_error():
    query = torch.zeros(1, 1, 1, 8)
    with pytest.raises(ValueError, match="turn heads of 4 features, not of 8"):
        RotaryPosition(4).rotate(query, query, torch.tensor([0]), torch.tensor([0]))
