"""Weights go from torch.nn to ours and back, and the outputs stay the same."""

import copy
import warnings

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import assert_same, fewer, stirred

from prosector import nn
from prosector.attention import Mask, Scope
from prosector.blocks import DecoderStack, EncoderStack, LayerNorm
from prosector.config.layer import LayerConfig
from prosector.interop import blocks_of, from_torch, to_torch
from prosector.positions import Position

D, H, FF = 8, 2, 12
FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)
PADDING = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=torch.bool)

layers = st.fixed_dictionaries(
    {
        "activation": st.sampled_from(["relu", "gelu", torch.tanh]),
        "layer_norm_eps": st.sampled_from([1e-5, 1e-2]),
        "batch_first": st.booleans(),
        "norm_first": st.booleans(),
        "bias": st.booleans(),
        "dropout": st.sampled_from([0.0, 0.25]),
    }
)


def theirs(name, **options):
    """One of torch.nn's six, in float64 and in evaluation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.nn warns of its own defaults
        if name == "MultiheadAttention":
            options = {key: value for key, value in options.items() if key in ("batch_first", "bias", "dropout")}
            module = torch.nn.MultiheadAttention(D, H, **options)
        elif name == "Transformer":
            module = torch.nn.Transformer(D, H, 2, 1, FF, **options)
        elif name.endswith("Layer"):
            module = getattr(torch.nn, name)(D, H, FF, **options)
        else:
            layer = getattr(torch.nn, f"{name}Layer")(D, H, FF, **options)
            module = getattr(torch.nn, name)(layer, 2, torch.nn.LayerNorm(D, eps=1e-3))
    return stirred(module.double()).eval()


def inputs_for(name, batch_first):
    x, memory = torch.randn(2, 4, D).double(), torch.randn(2, 5, D).double()
    if not batch_first:
        x, memory = x.transpose(0, 1), memory.transpose(0, 1)
    if name == "MultiheadAttention":
        return (x, memory, memory), {"key_padding_mask": PADDING}
    if name == "Transformer":
        return (memory, x), {"tgt_mask": FUTURE, "src_key_padding_mask": PADDING, "memory_key_padding_mask": PADDING}
    if "Decoder" in name:
        return (x, memory), {"tgt_mask": FUTURE, "memory_key_padding_mask": PADDING}
    return (memory,), {"src_key_padding_mask": PADDING}


def first(result):
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("name", nn.__all__)
@fewer
@given(layers, st.integers(0, 99))
def test_for_all_arguments_ours_and_the_way_back_give_the_same(name, options, seed):
    torch.manual_seed(seed)
    module = theirs(name, **options)
    ours = from_torch(module)
    back = to_torch(ours)
    assert type(ours) is getattr(nn, name)
    assert type(back) is type(module)
    inputs, masks = inputs_for(name, options["batch_first"])
    wanted = first(module(*inputs, **masks))
    assert_same(first(ours(*inputs, **masks)), wanted, within=1e-10)
    assert torch.equal(first(back(*inputs, **masks)), wanted)
    assert all(torch.equal(back.state_dict()[key], weight) for key, weight in module.state_dict().items())


@pytest.mark.parametrize("name", [name for name in nn.__all__ if name != "Transformer"])
@fewer
@given(layers, st.integers(0, 99))
def test_for_all_arguments_a_block_and_the_way_back_give_the_same(name, options, seed):
    torch.manual_seed(seed)
    module = theirs(name, **options | {"batch_first": True})
    block = blocks_of(module)
    back = to_torch(block)
    (x, *memory), masks = inputs_for(name, batch_first=True)
    here = Scope(torch.arange(x.shape[1]), torch.arange(x.shape[1]))
    there = Scope(torch.arange(x.shape[1]), torch.arange(5), Mask.keys(~PADDING))
    found = {
        "MultiheadAttention": lambda: block(x, memory[0], there),
        "TransformerEncoderLayer": lambda: block(x, there),
        "TransformerEncoder": lambda: block(x, ~PADDING),
        "TransformerDecoderLayer": lambda: block(
            x, *memory, Scope(here.query_positions, here.key_positions, Mask.causal()), there
        ),
        "TransformerDecoder": lambda: block(x, *memory, ~PADDING),
    }[name]()
    wanted = first(module(x, *memory, **masks))
    assert_same(found, wanted, within=1e-10)
    assert torch.equal(first(back(x, *memory, **masks)), wanted)


def test_dropout_eps_and_frozen_weights_come_along():
    module = theirs("TransformerEncoder", dropout=0.25).train()
    module.layers[1].dropout1.p = 0.5
    module.layers[0].self_attn.dropout = 0.125
    module.layers[1].norm2.eps = 0.5
    module.layers[0].linear1.weight.requires_grad_(False)
    ours = from_torch(module)
    for other in (ours, to_torch(ours)):
        assert other.training
        assert (other.layers[0].dropout1.p, other.layers[1].dropout1.p) == (0.25, 0.5)
        assert other.layers[1].norm2.eps == 0.5
        assert not other.layers[0].linear1.weight.requires_grad
        assert other.layers[1].linear1.weight.requires_grad
    assert ours.layers[0].self_attn.dropout.p == to_torch(ours).layers[0].self_attn.dropout == 0.125
    assert ours.norm.eps == 1e-3


def test_nothing_is_shared_and_nothing_is_drawn():
    module = theirs("TransformerDecoderLayer")
    before, state = torch.get_rng_state(), copy.deepcopy(module.state_dict())
    for other in (from_torch(module), blocks_of(module), to_torch(from_torch(module)), to_torch(blocks_of(module))):
        with torch.no_grad():
            for weight in other.parameters():
                weight.zero_()
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(state[name], weight) for name, weight in module.state_dict().items())


def test_an_activation_with_weights_comes_along():
    module = torch.nn.TransformerEncoderLayer(D, H, FF, activation=torch.nn.PReLU(init=0.7), batch_first=True).eval()
    x = torch.randn(2, 4, D)
    for other in (from_torch(module), blocks_of(from_torch(module)), to_torch(blocks_of(module))):
        assert any(weight.shape == (1,) and weight.item() == pytest.approx(0.7) for weight in other.parameters())
    assert_same(to_torch(blocks_of(module))(x), module(x), within=1e-6)


# --- blocks that were made here --------------------------------------------------------------------------------------


def config(**fields):
    return LayerConfig(**{"d_model": D, "n_heads": H, "d_ff": FF, "dropout": 0.0, "position": "none"} | fields)


@pytest.mark.parametrize(("bias", "qkv_bias"), [(True, False), (False, True)])
def test_a_bias_that_only_some_maps_have_is_zero_in_the_others(bias, qkv_bias):
    layer = stirred(config(bias=bias, qkv_bias=qkv_bias).build_encoder_layer()).eval()
    x, positions = torch.randn(2, 4, D), torch.arange(4)
    assert_same(to_torch(layer)(x), layer(x, Scope(positions, positions)), within=1e-5)
    attention = layer.attention
    assert_same(to_torch(attention)(x, x, x)[0], attention(x, x, Scope(positions, positions)), within=1e-5)


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_a_layer_of_a_model_of_ours_becomes_torch_nns(placement):
    layer = stirred(config(norm_placement=placement, activation="gelu", bias=False).build_encoder_layer()).eval()
    x, positions = torch.randn(2, 4, D), torch.arange(4)
    there = to_torch(layer)  # its linear maps have no bias, its norms have: torch.nn's get zeros
    assert not there.linear1.bias.any()
    assert_same(there(x), layer(x, Scope(positions, positions)), within=1e-5)
    assert to_torch(layer, batch_first=False)(x.transpose(0, 1)).shape == (4, 2, D)


def test_attention_to_a_source_of_other_features_becomes_torch_nns():
    block = blocks_of(stirred(nn.MultiheadAttention(D, H, kdim=3, vdim=3, batch_first=True)))
    x, source = torch.randn(2, 4, D), torch.randn(2, 5, 3)
    wanted = block(x, source, Scope(torch.arange(4), torch.arange(5)))
    assert_same(to_torch(block)(x, source, source)[0], wanted, within=1e-5)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (lambda: config(n_kv_heads=1).build_attention(), "n_kv_heads=1"),
        (lambda: config(d_head=3).build_attention(), "d_head=3"),
        (lambda: config(activation="swiglu").build_encoder_layer(), "SwiGLU"),
        (lambda: config(norm="rms").build_decoder_layer(), "RMSNorm"),
        (lambda: EncoderStack([config().build_encoder_layer()], Position(), None, 0.5), "dropout 0.5"),
        (
            lambda: DecoderStack(
                [config().build_decoder_layer()], config(position="sinusoidal").build_position(False), None, 0.0
            ),
            "SinusoidalPosition",
        ),
        (
            lambda: EncoderStack([config().build_encoder_layer()], Position(), None, 0.0, LayerNorm(D)),
            "LayerNorm on the embeddings",
        ),
        (lambda: config(attention_scale=1.0).build_attention(), "scale=1.0"),
        (lambda: torch.nn.Linear(2, 2), "Linear"),
    ],
)
def test_what_torch_nn_has_not_is_named(part, what):
    with pytest.raises(ValueError, match=what):
        to_torch(part())


class Other(torch.nn.TransformerEncoderLayer):
    """A subclass, which may compute anything."""


@pytest.mark.parametrize("module", [torch.nn.Linear(2, 2), Other(D, H), nn.TransformerEncoderLayer(D, H)])
def test_what_is_not_torch_nns_is_refused(module):
    with pytest.raises(ValueError, match=r"is not one of torch\.nn's MultiheadAttention, Transformer"):
        from_torch(module)


@pytest.mark.parametrize(
    ("module", "what"),
    [
        (nn.MultiheadAttention(D, H, kdim=3, vdim=5), "kdim=3, vdim=5"),
        (nn.MultiheadAttention(D, H, add_zero_attn=True), "add_zero_attn"),
        (nn.Transformer(D, H, 1, 1, FF), "take its encoder and its decoder"),
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, FF), 1, nn.RMSNorm(D)), "RMSNorm"),
        (Other(D, H), "Other"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_no_block_computes_is_named(module, what):
    with pytest.raises(ValueError, match=what):
        blocks_of(module)
