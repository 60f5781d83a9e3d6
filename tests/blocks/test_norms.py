"""Norms: against torch.nn, against what is written out, and padding that counts for nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import stirred

from prosector.blocks import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.norms import batch_statistics, layer_norm, rms_norm

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
    x = torch.randn(shape, dtype=torch.float64) * 1e6  # so large that ε is nothing
    y = layer_norm(x)
    torch.testing.assert_close(y.mean(-1), torch.zeros(shape[:-1]).double(), rtol=0, atol=1e-10)
    torch.testing.assert_close(y.var(-1, correction=0), torch.ones(shape[:-1]).double(), rtol=0, atol=1e-3)
    torch.testing.assert_close(rms_norm(x).square().mean(-1), torch.ones(shape[:-1]).double(), rtol=0, atol=1e-3)


def test_a_layer_norm_may_be_without_a_shift():
    assert [name for name, _ in LayerNorm(4, bias=False).named_parameters()] == ["weight"]


def like(ours):
    """torch.nn's batch norm with the same weights and statistics."""
    theirs = torch.nn.BatchNorm1d(len(ours.weight)).double().train(ours.training)
    state = {name.replace("variance", "var"): value for name, value in ours.state_dict().items()}
    theirs.load_state_dict(state | {"num_batches_tracked": torch.tensor(0)})
    return theirs


@given(sizes.filter(lambda shape: shape[0] * shape[1] > 1), seeds, st.integers(1, 4))
def test_batch_norm_is_torch_nns_where_there_is_no_padding(shape, seed, steps):
    n, d = shape[0] * shape[1], shape[2]
    ours = stirred(BatchNorm(d)).double().train()
    theirs, first = like(ours), ours.running_variance.clone()
    for step in range(steps):
        x = tokens(shape, seed + step)
        assert_same_with_gradients(ours(x), theirs(x.flatten(0, 1)).view(shape), [x])
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=0, atol=1e-10)
    # Both divide by n in the norm; in what it keeps for later torch.nn divides by n - 1, and ours again by n.
    left = first * 0.9**steps
    torch.testing.assert_close(ours.running_variance - left, (theirs.running_var - left) * (n - 1) / n)


@given(sizes, seeds)
def test_batch_norm_in_evaluation_goes_by_what_it_kept(shape, seed):
    x, ours = tokens(shape, seed), stirred(BatchNorm(shape[-1])).double().eval()
    assert_same_with_gradients(ours(x), like(ours)(x.flatten(0, 1)).view(shape), [x])
    by_hand = (x - ours.running_mean) / (ours.running_variance + 1e-5).sqrt() * ours.weight + ours.bias
    torch.testing.assert_close(ours(x), by_hand, rtol=0, atol=1e-10)


@given(sizes, seeds)
def test_for_all_padding_batch_norm_is_that_of_the_real_tokens_alone(shape, seed):
    x = tokens(shape, seed)
    real = torch.rand(shape[:2]) < 0.7
    real[0, 0] = True
    padded, alone = stirred(BatchNorm(shape[-1])).double().train(), BatchNorm(shape[-1]).double().train()
    alone.load_state_dict(padded.state_dict())
    tokens_alone = x[real][None]  # [1, N, d]
    assert_same_with_gradients(padded(x, real)[real][None], alone(tokens_alone), [x])
    for one, other in zip(padded.buffers(), alone.buffers(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


@given(sizes, seeds)
def test_whatever_stands_in_the_padding_changes_no_statistic(shape, seed):
    x, real = tokens(shape, seed).detach(), torch.rand(shape[:2]) < 0.5
    other = torch.where(real[..., None], x, 1e6)
    for one, same in zip(batch_statistics(x, real), batch_statistics(other, real), strict=True):
        assert torch.equal(one, same)


def test_a_batch_of_padding_alone_stays_finite():
    norm = BatchNorm(3).train()
    assert norm(torch.randn(2, 4, 3), torch.zeros(2, 4, dtype=torch.bool)).isfinite().all()
    assert norm.running_mean.isfinite().all()


def test_with_batch_norm_a_sentence_depends_on_its_neighbours_and_with_the_others_not():
    """Why Transformers do not use it."""
    x, y = torch.randn(1, 3, 4), torch.randn(1, 3, 4)
    for norm, depends in ((BatchNorm(4), True), (LayerNorm(4), False), (RMSNorm(4), False)):
        alone, together = norm.train()(x), norm(torch.cat([x, y]))[:1]
        assert torch.allclose(alone, together) != depends


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_statistics_of_narrow_numbers_are_computed_in_float32(dtype):
    x = (100 + torch.randn(2, 3, 8)).to(dtype)  # whose squares do not fit into float16's digits
    for norm in (layer_norm, rms_norm):
        assert torch.equal(norm(x), norm(x.float()).to(dtype))
    mean, variance = batch_statistics(x, None)
    assert mean.dtype == variance.dtype == torch.float32
    for narrow, wide in ((LayerNorm(8), LayerNorm(8)), (RMSNorm(8), RMSNorm(8))):
        torch.testing.assert_close(narrow.to(dtype)(x), wide(x.float()).to(dtype))
