"""Dropout: how many values go, what is left on average, and the way back."""

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from prosector.attention import Dropout
from prosector.attention.dropout import keep_mask

N = 100_000
rates = st.floats(0, 1, exclude_max=True)


def drop(x, p, seed=0):
    torch.manual_seed(seed)
    return Dropout(p).train()(x)


@given(rates, st.integers(0, 9))
@example(0.9999, 0)  # more than 255/256
def test_for_every_rate_as_many_go_as_chance_would_have_it(p, seed):
    """p is rounded to 256ths; of N tosses the number that falls is within 5 standard deviations of N p."""
    p256 = min(round(256 * p), 255) / 256
    assert abs(p256 - p) <= 1 / 256
    dropped = (drop(torch.ones(N), p, seed) == 0).sum().item()
    assert abs(dropped - N * p256) <= 5 * math.sqrt(N * p256 * (1 - p256))


@given(rates, st.integers(0, 9))
@example(0.9999, 0)
def test_for_every_rate_the_mean_stays(p, seed):
    """What is kept is scaled by exactly 1 / (1 - p256): the sum over N ones is N in the mean."""
    p256 = min(round(256 * p), 255) / 256
    y = drop(torch.ones(N), p, seed)
    assert y.unique().tolist() in ([1.0], [0.0, pytest.approx(1 / (1 - p256))])
    deviation = math.sqrt(p256 / (1 - p256) / N)
    assert y.mean().item() == pytest.approx(1, abs=5 * deviation + 1e-6)


@given(st.floats(0.01, 0.99), st.lists(st.integers(0, 5), max_size=3), st.integers(0, 9))
def test_for_every_shape_the_gradient_passes_where_the_value_did(p, shape, seed):
    x = torch.randn(shape).abs().add(1).requires_grad_()
    y = drop(x, p, seed)
    assert y.shape == x.shape
    wanted = torch.randn_like(x)
    y.backward(wanted)
    torch.testing.assert_close(x.grad, wanted * (y / x).detach())
    assert torch.equal(x.grad == 0, y == 0) or (wanted == 0).any()


def test_the_gradient_is_the_one_that_small_changes_show():
    x = torch.randn(3, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: drop(x, 0.4), x)


@given(rates, st.integers(0, 9), st.booleans())
def test_dropped_onto_a_residual_path_it_is_the_sum_and_has_its_gradients(p, seed, training):
    dropout = Dropout(p).train(training)
    x, y = torch.randn(2, 5, 8, dtype=torch.float64).unbind()
    found = []
    for both in (dropout.onto, lambda x, y: x + dropout(y)):
        leaves = x.clone().requires_grad_(), y.clone().requires_grad_()
        torch.manual_seed(seed)
        total = both(*leaves)
        found.append([total, *torch.autograd.grad(total.sin().sum(), leaves)])
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, rtol=0, atol=1e-12)


def test_dropped_onto_a_wider_type_it_has_that_type_and_its_gradient_its_own():
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(3, 4).bfloat16().requires_grad_()
    total = Dropout(0.5).train().onto(x, y)
    total.sum().backward()
    assert (total.dtype, x.grad.dtype, y.grad.dtype) == (torch.float32, torch.float32, torch.bfloat16)
    assert torch.equal(x.grad, torch.ones(3, 4))
    assert set(y.grad.flatten().tolist()) <= {0.0, 2.0}


def test_the_same_seed_drops_the_same_values_and_another_seed_others():
    x = torch.ones(1000)
    assert torch.equal(drop(x, 0.3, seed=1), drop(x, 0.3, seed=1))
    assert not torch.equal(drop(x, 0.3, seed=1), drop(x, 0.3, seed=2))
    torch.manual_seed(1)
    assert not torch.equal(keep_mask(x, 0.3), keep_mask(x, 0.3))  # the next call draws on


@given(rates)
def test_in_evaluation_nothing_is_dropped_and_no_number_drawn(p):
    x = torch.randn(50)
    before = torch.get_rng_state()
    assert Dropout(p).eval()(x) is x
    assert torch.equal(torch.get_rng_state(), before)


def test_a_rate_of_zero_is_the_identity():
    x = torch.randn(5)
    assert Dropout(0.0).train()(x) is x


def test_neighbours_fall_independently():
    """Eight values share one 64-bit number, but not their fate."""
    kept = keep_mask(torch.empty(8 * 20_000), 0.5).view(-1, 8).float()
    correlation = torch.corrcoef(kept.T)
    assert (correlation - torch.eye(8)).abs().max() < 5 / math.sqrt(20_000)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_the_type_stays(dtype):
    assert drop(torch.ones(9, dtype=dtype), 0.5).dtype == dtype


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5])
def test_a_rate_outside_is_named(p):
    with pytest.raises(ValueError, match=rf"dropout p={p} is not in \[0, 1\)"):
        Dropout(p)


def test_compiled_it_is_one_graph_and_drops_as_many():
    torch.compiler.reset()
    compiled = torch.compile(Dropout(0.3).train(), fullgraph=True, backend="aot_eager")
    x = torch.ones(N, requires_grad=True)
    y = compiled(x)
    assert y.unique().tolist() == [0.0, pytest.approx(256 / (256 - 77))]  # 0.3 is 77/256
    assert (y == 0).float().mean().item() == pytest.approx(77 / 256, abs=0.01)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
