"""Attention, worked by hand: from one dot product to heads side by side."""

import pytest
import torch

from prosector.attention import Mask, functional

INF = torch.inf


def test_a_dot_product():
    """(1, 3)·(-2, 1) = 1·(-2) + 3·1 = 1"""
    assert functional.similarity(torch.tensor([[1.0, 3.0]]), torch.tensor([[-2.0, 1.0]])).item() == 1


X = torch.tensor([[0.4, 1.8, 0.1], [0.0, 0.1, 0.1], [0.6, 1.0, 0.0]])


def test_three_similarities_become_weights():
    """x1·x1 = 3.41, x1·x2 = 0.19, x1·x3 = 2.04: x1 looks mostly at itself, then at x3."""
    scores = functional.similarity(X, X)[0]
    assert scores.tolist() == pytest.approx([3.41, 0.19, 2.04])
    assert functional.softmax_over_keys(scores).tolist() == pytest.approx([0.773, 0.031, 0.196], abs=5e-4)


def test_and_the_weights_mix_the_vectors():
    """0.773·x1 + 0.031·x2 + 0.196·x3"""
    mixed = [0.773 * a + 0.031 * b + 0.196 * c for a, b, c in zip(*X.tolist(), strict=True)]
    assert functional.self_attention(X)[0].tolist() == pytest.approx(mixed, abs=2e-3)


def test_a_writer_sees_only_what_is_written():
    """The first word sees itself, the second two, the third all."""
    weights = functional.softmax_over_keys(torch.zeros(3, 3), functional.causal(3))
    third = pytest.approx(1 / 3)
    assert weights.tolist() == [[1, 0, 0], [0.5, 0.5, 0], [third, third, third]]


def test_dividing_by_the_root_of_d_k():
    """Four features: 8 / √4 = 4"""
    query, key = torch.tensor([[1.0, 1.0, 1.0, 1.0]]), torch.tensor([[2.0, 2.0, 2.0, 2.0]])
    assert functional.scaled_scores(query, key).item() == 4


def test_three_heads_are_laid_side_by_side():
    """[[1,2],[4,5],[1,9]] ‖ [[5,9],[8,7],[1,6]] ‖ [[3,0],[2,2],[4,8]]"""
    heads = torch.tensor([[[1, 2], [4, 5], [1, 9]], [[5, 9], [8, 7], [1, 6]], [[3, 0], [2, 2], [4, 8]]])
    assert functional.merge_heads(heads[None])[0].tolist() == [
        [1, 2, 5, 9, 3, 0],
        [4, 5, 8, 7, 2, 2],
        [1, 9, 1, 6, 4, 8],
    ]


SCORES = torch.tensor([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])


def test_minus_infinity_and_minus_a_billion_forbid_alike():
    """e^-∞ is 0, and so is e^-1000000000 in any floating point number."""
    may_look = torch.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]]).bool()
    infinite = SCORES.masked_fill(~may_look, -INF).softmax(dim=-1)
    large = SCORES.masked_fill(~may_look, -1e9).softmax(dim=-1)
    assert infinite.tolist() == large.tolist() == functional.softmax_over_keys(SCORES, may_look).tolist()
    assert infinite[1].tolist() == pytest.approx([0.119, 0.881, 0], abs=5e-4)  # e / (e + e³), e³ / (e + e³)


def test_but_not_where_a_row_may_look_at_nothing():
    """The second row: -∞ gives 0/0, -10⁹ a mean of all that is forbidden, and Prosector nothing."""
    may_look = torch.tensor([[1, 1, 1], [0, 0, 0]]).bool()
    assert SCORES[:2].masked_fill(~may_look, -INF).softmax(dim=-1)[1].isnan().all()
    assert SCORES[:2].masked_fill(~may_look, -1e9).softmax(dim=-1)[1].tolist() == pytest.approx([1 / 3] * 3)
    assert functional.softmax_over_keys(SCORES[:2], may_look)[1].tolist() == [0, 0, 0]


def test_two_masks_are_one():
    """The future is forbidden, and so is the padding, which is the last of four."""
    mask = Mask.causal() & Mask.padding(torch.tensor([3]), total=4)
    assert mask.may_look(torch.arange(4), torch.arange(4))[0, 0].int().tolist() == [
        [1, 0, 0, 0],
        [1, 1, 0, 0],
        [1, 1, 1, 0],
        [1, 1, 1, 0],
    ]
