"""The arithmetic: against loops that a reader could run on paper, and against torch.nn.functional."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from prosector.attention import functional

small = st.integers(1, 4)


def by_loops(query, key, value, may_look):
    """softmax(Q Kᵀ / √d_k) V for one head, one number at a time; an empty row gives zeros."""
    mixed = []
    for i, q in enumerate(query.tolist()):
        raised = {}
        for j, k in enumerate(key.tolist()):
            if may_look[i][j]:
                raised[j] = math.exp(sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)))
        total = sum(raised.values())
        mixed.append([sum(raised[j] / total * value[j, c].item() for j in raised) for c in range(value.shape[1])])
    return torch.tensor(mixed, dtype=value.dtype)


@given(small, small, small, small, st.integers(0, 99))
def test_attention_is_what_loops_compute(n_queries, n_keys, d_k, d_v, seed):
    torch.manual_seed(seed)
    query, key, value = torch.randn(n_queries, d_k), torch.randn(n_keys, d_k), torch.randn(n_keys, d_v)
    query, key, value = query.double(), key.double(), value.double()
    may_look = torch.rand(n_queries, n_keys) < 0.6
    mixed = functional.attention(query, key, value, may_look)
    torch.testing.assert_close(mixed, by_loops(query, key, value, may_look.tolist()), rtol=0, atol=1e-12)


@given(small, small, small, small, st.booleans(), st.integers(0, 99))
def test_attention_is_pytorchs_where_no_row_is_empty(n_queries, n_keys, d_k, d_v, masked, seed):
    torch.manual_seed(seed)
    query, key = torch.randn(2, 3, n_queries, d_k), torch.randn(2, 3, n_keys, d_k)
    value = torch.randn(2, 3, n_keys, d_v)
    may_look = None
    if masked:
        may_look = torch.rand(2, 1, n_queries, n_keys) < 0.6
        may_look[..., 0] = True
    for scale in (None, 1.0):
        torch.testing.assert_close(
            functional.attention(query, key, value, may_look, scale=scale),
            F.scaled_dot_product_attention(query, key, value, may_look, scale=scale),
            rtol=0,
            atol=1e-6,
        )


@given(small, small, st.integers(0, 99))
def test_for_every_query_the_weights_sum_to_one_or_to_nothing(n_queries, n_keys, seed):
    torch.manual_seed(seed)
    may_look = torch.rand(2, 1, n_queries, n_keys) < 0.5
    weights = functional.attention_weights(torch.randn(2, 3, n_queries, 4), torch.randn(2, 3, n_keys, 4), may_look)
    some = may_look.any(-1).expand(2, 3, n_queries).float()
    torch.testing.assert_close(weights.sum(-1), some, rtol=0, atol=1e-6)
    assert not weights[~may_look.expand_as(weights)].any()  # exactly 0 where it is forbidden


@given(st.integers(1, 5), st.integers(1, 4), st.integers(0, 99))
def test_attention_without_parameters_is_softmax_of_x_xt_times_x(length, d, seed):
    torch.manual_seed(seed)
    x = torch.randn(2, length, d, dtype=torch.float64)
    torch.testing.assert_close(functional.self_attention(x), (x @ x.mT).softmax(-1) @ x, rtol=0, atol=1e-12)
    looking_back = functional.self_attention(x, functional.causal(length))
    torch.testing.assert_close(looking_back[:, 0], x[:, 0], rtol=0, atol=1e-12)  # the first sees only itself


def test_dividing_by_the_root_keeps_the_scores_variance_at_one():
    for d_k in (4, 64, 1024):
        query, key = torch.randn(500, d_k), torch.randn(500, d_k)
        assert functional.similarity(query, key).var().item() == pytest.approx(d_k, rel=0.1)
        assert functional.scaled_scores(query, key).var().item() == pytest.approx(1, rel=0.1)


def test_project_is_a_linear_layer():
    layer = torch.nn.Linear(5, 3)
    x = torch.randn(2, 4, 5)
    torch.testing.assert_close(functional.project(x, layer.weight, layer.bias), layer(x))
    torch.testing.assert_close(functional.project(x, layer.weight), layer(x) - layer.bias)


def test_heads_are_cut_from_the_features_side_by_side_and_laid_back():
    x = torch.arange(2 * 3 * 8).view(2, 3, 8)
    heads = functional.split_heads(x, 4)
    assert heads[0, :, 0].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert torch.equal(functional.merge_heads(heads), x)


def test_groups_of_heads_share_a_key_head_in_order():
    shared = functional.share_heads(torch.tensor([10, 20]).view(1, 2, 1, 1), 6)
    assert shared.flatten().tolist() == [10, 10, 10, 20, 20, 20]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_softmax_is_computed_in_float32_at_least(dtype):
    """200 equal scores: in half precision each weight would be right, and their sum not."""
    weights = functional.softmax_over_keys(torch.zeros(1, 200, dtype=dtype))
    assert weights.dtype == torch.float32
    assert weights.sum().item() == pytest.approx(1, abs=1e-6)
    out = functional.attention(*(torch.randn(1, 3, 4, dtype=dtype) for _ in range(3)))
    assert out.dtype == dtype


def test_a_dot_product_needs_the_same_number_of_features():
    with pytest.raises(ValueError, match="queries have 4 features and keys 5"):
        functional.attention(torch.ones(1, 2, 4), torch.ones(1, 2, 5), torch.ones(1, 2, 3))


def test_features_must_divide_into_heads():
    with pytest.raises(ValueError, match="10 features do not divide into 4 heads"):
        functional.split_heads(torch.ones(1, 2, 10), 4)
