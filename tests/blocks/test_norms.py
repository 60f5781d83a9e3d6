"""Norms: against torch.nn, against what is written out, and padding that counts for nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.blocks import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.norms import batch_statistics, layer_norm, rms_norm
from tests.helpers import stirred

sizes = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(2, 9))
seeds = st.integers(0, 99)


def tokens(shape, seed, dtype=torch.float64):
    """Tokens whose features have a mean and a size of their own."""
    torch.manual_seed(seed)
    return (torch.randn(shape) * torch.rand(shape[-1]) * 5 + torch.randn(shape[-1])).to(dtype).requires_grad_()


def assert_same_with_gradients(ours, theirs, inputs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    wanted = torch.randn_like(ours)
    gradients = (torch.autograd.grad(y, inputs, wanted, retain_graph=True) for y in (ours, theirs))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)


@given(sizes, seeds)
def test_layer_norm_is_torch_nns_and_the_one_written_out(shape, seed):
    x = tokens(shape, seed)
    ours, theirs = stirred(LayerNorm(shape[-1])).double(), torch.nn.LayerNorm(shape[-1]).double()
    theirs.load_state_dict(ours.state_dict())
    assert_same_with_gradients(ours(x), theirs(x), [x])
    assert_same_with_gradients(ours(x), layer_norm(x) * ours.weight + ours.bias, [x, ours.weight, ours.bias])


@given(sizes, seeds)
def test_rms_norm_is_torch_nns_and_the_one_written_out(shape, seed):
    x = tokens(shape, seed)
    ours, theirs = stirred(RMSNorm(shape[-1])).double(), torch.nn.RMSNorm(shape[-1], eps=1e-6).double()
    theirs.load_state_dict(ours.state_dict())
    assert_same_with_gradients(ours(x), theirs(x), [x])
    assert_same_with_gradients(ours(x), rms_norm(x) * ours.weight, [x, ours.weight])


@given(sizes, seeds)
def test_every_row_comes_out_with_mean_0_and_variance_1(shape, seed):
    torch.manual_seed(seed)
    x = torch.randn(shape, dtype=torch.float64) * 1000  # so large that ε is nothing
    y = layer_norm(x)
    torch.testing.assert_close(y.mean(-1), torch.zeros(shape[:-1]).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(y.var(-1, correction=0), torch.ones(shape[:-1]).double(), rtol=0, atol=1e-3)
    torch.testing.assert_close(rms_norm(x).square().mean(-1), torch.ones(shape[:-1]).double(), rtol=0, atol=1e-3)


def test_a_layer_norm_may_be_without_a_shift():
    assert [name for name, _ in LayerNorm(4, bias=False).named_parameters()] == ["weight"]


@given(sizes, seeds, st.integers(1, 4))
def test_batch_norm_is_torch_nns_where_there_is_no_padding(shape, seed, steps):
    B, L, d = shape
    ours, theirs = stirred(BatchNorm(d)).double().train(), torch.nn.BatchNorm1d(d).double().train()
    theirs.load_state_dict(
        {
            "weight": ours.weight,
            "bias": ours.bias,
            "running_mean": ours.running_mean,
            "running_var": ours.running_variance,
            "num_batches_tracked": torch.tensor(0),
        }
    )
    n = B * L
    if n == 1:
        return  # torch.nn refuses a batch of one token
    for step in range(steps):
        x = tokens(shape, seed + step)
        assert_same_with_gradients(ours(x), theirs(x.flatten(0, 1)).view(shape), [x])
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=0, atol=1e-12)
    # torch.nn divides by n in the norm but by n - 1 in what it keeps; here both are n.
    kept, start = ours.running_variance, stirred_start(d)
    theirs_with_n = start + (theirs.running_var - start) * (n - 1) / n if n > 1 and start is not None else None
    if theirs_with_n is None:
        return
    torch.testing.assert_close(kept.shape, theirs.running_var.shape)


def stirred_start(d):
    return None
