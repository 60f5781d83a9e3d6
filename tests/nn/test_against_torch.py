"""prosector.nn equals torch.nn: for all sizes, arguments and masks, forward and gradients, in either type."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import assert_same, few, fewer, stirred

from prosector import nn

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
seeds = st.integers(0, 999)


def twins(name, dtype, *arguments, **options):
    """torch.nn's and ours with the same weights; in training, where torch.nn takes no short cut."""
    theirs = stirred(getattr(torch.nn, name)(*arguments, **options).to(dtype)).train()
    ours = getattr(nn, name)(*arguments, **options, dtype=dtype).train()
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def assert_equal(theirs, ours, inputs, **options):
    """Outputs, and the gradients of inputs and weights."""
    dtype = inputs[0].dtype
    found = []
    for module in (theirs, ours):
        leaves = [x.clone().requires_grad_() for x in inputs]
        results = module(*leaves, **options)
        results = [each for each in results if each is not None] if isinstance(results, tuple) else [results]
        total = sum((each * torch.arange(each.numel()).cos().view_as(each)).sum() for each in results)
        named = {str(n): leaf for n, leaf in enumerate(leaves)} | dict(module.named_parameters())
        gradients = torch.autograd.grad(total, list(named.values()), materialize_grads=True)
        found.append(dict(enumerate(results)) | dict(zip(named, gradients, strict=True)))
    assert found[0].keys() == found[1].keys()
    for name, wanted in found[0].items():
        assert_same(found[1][name], wanted, within=TOLERANCE[dtype])


@st.composite
def masks(draw, rows, heads, n_queries, n_keys, dtype, names=("attn_mask", "key_padding_mask")):
    """torch.nn's two masks, of the same kind: none, bools or floats, none of which hides all keys of a query."""
    floats = draw(st.booleans())
    made = {}
    tables = draw(st.sampled_from([None, (n_queries, n_keys), (rows * heads, n_queries, n_keys)]))
    for name, shape in zip(names, (tables, draw(st.sampled_from([None, (rows, n_keys)]))), strict=True):
        if shape is not None:
            forbidden = torch.rand(shape) < 0.4
            forbidden[..., 0] = False
            added = torch.randn(shape, dtype=dtype).masked_fill(forbidden, -torch.inf)
            made[name] = added if floats else forbidden
    return made


@dtypes
@given(st.data(), seeds)
def test_multihead_attention(dtype, data, seed):
    torch.manual_seed(seed)
    heads, d_head, rows, n_queries, n_keys = (data.draw(st.integers(1, 3)) for _ in range(5))
    kdim, vdim = (data.draw(st.none() | st.integers(1, 5)) for _ in range(2))
    batch_first, single = data.draw(st.booleans()), data.draw(st.booleans())
    rows = 1 if single else rows
    options = {name: data.draw(st.booleans()) for name in ("bias", "add_bias_kv", "add_zero_attn")}
    d = heads * d_head
    theirs, ours = twins(
        "MultiheadAttention", dtype, d, heads, kdim=kdim, vdim=vdim, batch_first=batch_first, **options
    )
    shapes = ((n_queries, d), (n_keys, kdim or d), (n_keys, vdim or d))
    inputs = [torch.randn(length, width, dtype=dtype) for length, width in shapes]
    chosen = data.draw(masks(rows, heads, n_queries, n_keys, dtype))
    if single:
        chosen = {name: mask[0] if name == "key_padding_mask" else mask for name, mask in chosen.items()}
    else:
        at = 0 if batch_first else 1
        inputs = [torch.stack([x] * rows, dim=at) + torch.randn(1, dtype=dtype) for x in inputs]
    weights = {name: data.draw(st.booleans()) for name in ("need_weights", "average_attn_weights")}
    assert_equal(theirs, ours, inputs, **chosen, **weights)


@st.composite
def layers(draw):
    """Arguments of a layer."""
    return {
        "d_model": 4 * draw(st.integers(1, 2)),
        "nhead": draw(st.sampled_from([1, 2, 4])),
        "dim_feedforward": draw(st.integers(1, 9)),
        "dropout": 0.0,
        "activation": draw(st.sampled_from(["relu", "gelu", torch.tanh])),
        "layer_norm_eps": draw(st.sampled_from([1e-5, 1e-2])),
        "batch_first": draw(st.booleans()),
        "norm_first": draw(st.booleans()),
        "bias": draw(st.booleans()),
    }


def sequence(rows, length, arguments, dtype):
    shape = (rows, length) if arguments["batch_first"] else (length, rows)
    return torch.randn(*shape, arguments["d_model"], dtype=dtype)


@dtypes
@fewer
@given(layers(), st.integers(1, 3), st.integers(1, 5), st.data(), seeds)
def test_the_encoder_layer(dtype, arguments, B, L, data, seed):
    torch.manual_seed(seed)
    theirs, ours = twins("TransformerEncoderLayer", dtype, **arguments)
    names = ("src_mask", "src_key_padding_mask")
    chosen = data.draw(masks(B, arguments["nhead"], L, L, dtype, names))
    assert_equal(theirs, ours, [sequence(B, L, arguments, dtype)], **chosen)


@dtypes
@fewer
@given(layers(), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.data(), seeds)
def test_the_decoder_layer_with_a_memory_of_any_length(dtype, arguments, B, Lt, Ls, data, seed):
    torch.manual_seed(seed)
    theirs, ours = twins("TransformerDecoderLayer", dtype, **arguments)
    chosen = data.draw(masks(B, arguments["nhead"], Lt, Lt, dtype, ("tgt_mask", "tgt_key_padding_mask")))
    chosen |= data.draw(masks(B, arguments["nhead"], Lt, Ls, dtype, ("memory_mask", "memory_key_padding_mask")))
    assert_equal(theirs, ours, [sequence(B, Lt, arguments, dtype), sequence(B, Ls, arguments, dtype)], **chosen)


@dtypes
@few
@given(layers(), st.integers(1, 2), st.integers(1, 4), st.integers(1, 4), st.data(), seeds)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_the_transformer_and_its_stacks(dtype, arguments, B, Lt, Ls, data, seed):
    torch.manual_seed(seed)
    sizes = {"num_encoder_layers": data.draw(st.integers(1, 2)), "num_decoder_layers": data.draw(st.integers(1, 2))}
    theirs, ours = twins("Transformer", dtype, **arguments, **sizes)
    heads = arguments["nhead"]
    chosen = data.draw(masks(B, heads, Ls, Ls, dtype, ("src_mask", "src_key_padding_mask")))
    chosen |= data.draw(masks(B, heads, Lt, Lt, dtype, ("tgt_mask", "tgt_key_padding_mask")))
    chosen |= data.draw(masks(B, heads, Lt, Ls, dtype, ("memory_mask", "memory_key_padding_mask")))
    assert_equal(theirs, ours, [sequence(B, Ls, arguments, dtype), sequence(B, Lt, arguments, dtype)], **chosen)


def test_a_causal_mask_and_is_causal_together():
    theirs, ours = twins("TransformerEncoderLayer", torch.float64, 8, 2, 12, dropout=0.0, batch_first=True)
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    assert_equal(theirs, ours, [torch.randn(2, 5, 8).double()], src_mask=future, is_causal=True)


def test_an_additive_mask_that_learns():
    theirs, ours = twins("MultiheadAttention", torch.float64, 8, 2, batch_first=True)
    x, found = torch.randn(2, 4, 8).double(), []
    start = torch.randn(4, 4).double()
    for module in (theirs, ours):
        added = start.clone().requires_grad_()
        out, _ = module(x, x, x, attn_mask=added, need_weights=False)
        found.append(torch.autograd.grad(out.square().sum(), added)[0])
    assert_same(*found, within=1e-10)


@pytest.mark.parametrize("mode", ["evaluation", "no gradients"])
def test_the_short_cuts_of_evaluation_change_nothing(mode):
    """torch.nn has a kernel of its own there; ours goes the same way as in training."""
    theirs, ours = twins("TransformerEncoderLayer", torch.float64, 8, 2, 12, batch_first=True)
    x, future = torch.randn(2, 5, 8).double(), torch.ones(5, 5, dtype=torch.bool).triu(1)
    with torch.set_grad_enabled(mode != "no gradients"):
        assert_same(ours.eval()(x, src_mask=future), theirs.eval()(x, src_mask=future), within=1e-10)
