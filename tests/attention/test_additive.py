"""Additive attention: against loops, and its laws."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.attention import AdditiveAttention, Mask, Scope
from prosector.attention.additive import additive_scores
from prosector.observe import observe

small = st.integers(1, 4)


def scope_of(Lq, Lk, mask=None):
    return Scope(torch.arange(Lq), torch.arange(Lk), mask)


@given(small, small, small, st.integers(0, 99))
def test_scores_are_what_loops_compute(Lq, Lk, a, seed):
    torch.manual_seed(seed)
    query, key, v = torch.randn(1, Lq, a).double(), torch.randn(1, Lk, a).double(), torch.randn(a).double()
    by_loops = [
        [sum(v[f].item() * math.tanh(query[0, i, f] + key[0, j, f]) for f in range(a)) for j in range(Lk)]
        for i in range(Lq)
    ]
    wanted = torch.tensor([by_loops], dtype=torch.float64)
    torch.testing.assert_close(additive_scores(query, key, v), wanted, rtol=0, atol=1e-12)


@given(small, small, small, small, st.integers(0, 99))
def test_for_every_mask_hidden_keys_weigh_exactly_nothing_and_change_nothing(B, Lq, Lk, extra, seed):
    torch.manual_seed(seed)
    attention = AdditiveAttention(3, 5, 4).double()
    query, key = torch.randn(B, Lq, 3).double(), torch.randn(B, Lk + extra, 5).double()
    real = torch.rand(B, Lk + extra) < 0.6
    with torch.no_grad(), observe(attention) as seen:
        context = attention(query, key, scope_of(Lq, Lk + extra, Mask.keys(real)))
    weights = seen["weights"]
    assert (weights.masked_select(~real[:, None].expand_as(weights)) == 0).all()
    sums = real.any(dim=1).double()[:, None].expand(B, Lq)  # a query that may look at nothing gets zeros
    torch.testing.assert_close(weights.sum(-1), sums, rtol=0, atol=1e-12)

    key[~real] = 1e3
    again = attention(query, key, scope_of(Lq, Lk + extra, Mask.keys(real)))
    torch.testing.assert_close(again, context, rtol=0, atol=0)


def test_an_empty_row_has_finite_gradients():
    attention, key = AdditiveAttention(3, 5, 4), torch.randn(2, 4, 5, requires_grad=True)
    context = attention(torch.randn(2, 1, 3), key, scope_of(1, 4, Mask.keys(torch.tensor([[False] * 4, [True] * 4]))))
    assert (context[0] == 0).all()
    context.sum().backward()
    assert all(p.grad.isfinite().all() for p in attention.parameters())
    assert key.grad.isfinite().all()


def test_keys_projected_before_are_the_same():
    attention, query, key = AdditiveAttention(3, 5, 4), torch.randn(2, 2, 3), torch.randn(2, 4, 5)
    scope = scope_of(2, 4)
    assert torch.equal(attention(query, key, scope), attention(query, key, scope, attention.key(key)))


def test_a_mask_for_other_rows_is_an_error():
    attention = AdditiveAttention(3, 5, 4)
    with pytest.raises(ValueError, match="3 rows meets 2"):
        attention(torch.randn(2, 1, 3), torch.randn(2, 4, 5), scope_of(1, 4, Mask.keys(torch.ones(3, 4).bool())))


def test_scores_are_float32_at_least():
    half = torch.randn(1, 2, 4).bfloat16()
    assert additive_scores(half, half, torch.randn(4)).dtype == torch.float32
