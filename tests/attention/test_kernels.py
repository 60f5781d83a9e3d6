"""Every kernel equals the arithmetic: forward and gradients, for every mask, bias and position."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.attention.problems import POSITIONS, TOLERANCE, Problem, arithmetic, assert_all_close, problems
from tests.helpers import MaskAndRule, masks
from torch.nn.attention import flex_attention

from prosector.attention import KERNELS, Mask, Scope, functional

WITH_GRADIENTS = ["sdpa", "written-out", "blockwise"]  # FlexAttention has no gradients on a CPU

kernels = pytest.mark.parametrize("kernel", KERNELS)
with_gradients = pytest.mark.parametrize("kernel", WITH_GRADIENTS)
dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@with_gradients
@dtypes
@given(problem=problems())
def test_for_every_mask_and_position_a_kernel_equals_the_arithmetic_and_its_gradients(kernel, dtype, problem):
    assert_all_close(problem.solve(KERNELS[kernel], dtype), problem.solve(arithmetic, dtype), dtype)


@dtypes
@given(problem=problems())
def test_for_every_mask_and_position_flex_equals_the_arithmetic(dtype, problem):
    ours, theirs = (problem.solve(kernel, dtype, gradients=False) for kernel in (KERNELS["flex"], arithmetic))
    assert_all_close(ours, theirs, dtype)


def test_flex_as_it_runs_everywhere_else(monkeypatch):
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", False)
    mask, bias = Mask.causal() & Mask.keys(torch.rand(2, 6) < 0.6), torch.randn(1, 4, 5, 6)
    scope = Scope(torch.arange(5), torch.arange(6), mask, bias)
    problem = torch.randn(2, 4, 5, 6), torch.randn(2, 2, 6, 6), torch.randn(2, 2, 6, 3), scope, None
    torch.testing.assert_close(KERNELS["flex"](*problem), arithmetic(*problem), rtol=0, atol=1e-5)


@pytest.mark.parametrize("position", POSITIONS)
@with_gradients
def test_for_every_position_the_kernels_gradients_are_not_all_zero(position, kernel):
    """Guards the law above: gradients that are zero on both sides would agree."""
    torch.manual_seed(1)
    problem = Problem(
        *(torch.randn(2, 2, 5, 4) for _ in range(3)),
        None,
        POSITIONS[position](2, 4, True),
        torch.arange(5),
        torch.arange(5),
        None,
        torch.randn(2, 2, 5, 4),
    )
    assert all(gradient.abs().max() > 1e-3 for gradient in problem.solve(KERNELS[kernel], torch.float64)[1:])


def test_a_kernel_without_gradients_says_so():
    q = torch.randn(1, 1, 2, 2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="CPU"):
        KERNELS["flex"](q, q, q, Scope(torch.arange(2), torch.arange(2)), None)


# --- rows that may look at nothing -----------------------------------------------------------------------------------


@st.composite
def problems_with_empty_rows(draw):
    """A problem in which some queries, in some heads, may look at nothing; a bias of positions or none."""
    problem = draw(problems(("none", "alibi", "t5", "rope")))
    B, H, Lq, _ = problem.query.shape
    Lk = problem.key.shape[2]
    some = torch.rand(B, H, Lq) < draw(st.sampled_from([0.0, 0.5]))
    may_look = (torch.rand(B, H, Lq, Lk) < 0.7) & some[..., None]
    mask = Mask.dense(may_look) if draw(st.booleans()) else Mask.dense(may_look) & Mask.window(None, None)
    problem.mask = MaskAndRule(mask, None, "dense with empty rows")
    return problem, ~may_look.any(-1)


@kernels
@given(case=problems_with_empty_rows())
def test_for_every_empty_row_every_kernel_gives_zeros(kernel, case):
    problem, empty = case
    (output,) = problem.solve(KERNELS[kernel], torch.float32, gradients=False)
    assert not output[empty].any()
    assert output.isfinite().all()


@with_gradients
@given(case=problems_with_empty_rows())
def test_for_every_empty_row_gradients_are_finite_and_its_own_are_zero(kernel, case):
    problem, empty = case
    with torch.autograd.set_detect_anomaly(True):  # no NaN on the way either
        output, query_gradient, *others = problem.solve(KERNELS[kernel], torch.float32)
    assert not output[empty].any()
    assert all(gradient.isfinite().all() for gradient in (query_gradient, *others))
    assert not query_gradient[empty].any()


# --- minus infinity against a large number ---------------------------------------------------------------------------


def with_a_large_number(query, key, value, scope, scale):
    """What many texts write: -10⁹ in the place of -∞."""
    scores = functional.scaled_scores(query, key, scale, scope.bias)
    return scores.masked_fill(~scope.may_look, -1e9).softmax(-1) @ value


@kernels
@given(data=st.data())
def test_minus_a_billion_is_minus_infinity_but_for_empty_rows(kernel, data):
    B, H, Lq, Lk = (data.draw(st.integers(1, 4)) for _ in range(4))
    mask = data.draw(masks(B, H, Lq, Lk)).mask
    scope = Scope(torch.arange(Lq), torch.arange(Lk), mask)
    query, key, value = torch.randn(B, H, Lq, 4), torch.randn(B, H, Lk, 4), torch.randn(B, H, Lk, 4)
    ours, theirs = KERNELS[kernel](query, key, value, scope, None), with_a_large_number(query, key, value, scope, None)
    some = scope.may_look.any(-1, keepdim=True)
    torch.testing.assert_close(ours, torch.where(some, theirs, 0.0), rtol=0, atol=1e-5)
    # In an empty row all scores are the same -10⁹, so that it looks at everything, forbidden as it is.
    mean = value.mean(2, keepdim=True).expand_as(theirs)
    torch.testing.assert_close(torch.where(some, 0.0, theirs), torch.where(some, 0.0, mean), rtol=0, atol=1e-5)


# --- a mask for another batch ----------------------------------------------------------------------------------------


@kernels
@pytest.mark.parametrize(
    "table, message", [((3, 1), "a mask for 3 rows meets 2"), ((1, 4), "a mask for 4 heads meets 2")]
)
def test_for_every_kernel_a_mask_of_another_size_is_an_error_that_names_both(kernel, table, message):
    scope = Scope(torch.arange(4), torch.arange(4), Mask.dense(torch.ones(*table, 4, 4, dtype=torch.bool)))
    q = torch.randn(2, 2, 4, 2)
    with pytest.raises(ValueError, match=message):
        KERNELS[kernel](q, q, q, scope, None)
