"""Encoder and decoder layers equal torch.nn's, with the same weights, forward and gradients."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import copy_attention, fewer, stirred

from prosector.attention import Mask, Scope
from prosector.config.layer import LayerConfig

D, H, FF = 8, 2, 12
placements = pytest.mark.parametrize("placement", ["pre", "post"])
activations = pytest.mark.parametrize("activation", ["relu", "gelu"])


def config(placement, activation):
    return LayerConfig(
        d_model=D, n_heads=H, d_ff=FF, activation=activation, norm_placement=placement, dropout=0.0, position="none"
    )


def theirs_like(cls, placement, activation):
    """In training, where torch.nn takes no short cut; without dropout that is the same."""
    options = {"dropout": 0.0, "activation": activation, "norm_first": placement == "pre", "batch_first": True}
    return stirred(cls(D, H, FF, **options).double()).train()


def copy_rest(ours, theirs, norms):
    pairs = [(ours.feed_forward.inner, theirs.linear1), (ours.feed_forward.outer, theirs.linear2)]
    pairs += [(getattr(ours, name), getattr(theirs, name)) for name in norms]
    for one, other in pairs:
        one.load_state_dict(other.state_dict())


def assert_same(ours, theirs, inputs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    wanted = torch.randn_like(ours)
    gradients = (torch.autograd.grad(y, inputs, wanted) for y in (ours, theirs))
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@placements
@activations
@fewer
@given(st.integers(1, 3), st.integers(1, 5), st.integers(0, 99))
def test_the_encoder_layer_is_torch_nns(placement, activation, B, L, seed):
    torch.manual_seed(seed)
    theirs = theirs_like(torch.nn.TransformerEncoderLayer, placement, activation)
    ours = config(placement, activation).build_encoder_layer().double()
    copy_attention(ours.attention, theirs.self_attn)
    copy_rest(ours, theirs, ["norm1", "norm2"])

    x = torch.randn(B, L, D, dtype=torch.float64, requires_grad=True)
    padding = torch.rand(B, L) < 0.4
    padding[:, 0] = False
    scope = Scope(torch.arange(L), torch.arange(L), Mask.keys(~padding))
    assert_same(ours(x, scope), theirs(x, src_key_padding_mask=padding), [x])


@placements
@activations
@fewer
@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), st.integers(0, 99))
def test_the_decoder_layer_is_torch_nns(placement, activation, B, Lt, Ls, seed):
    torch.manual_seed(seed)
    theirs = theirs_like(torch.nn.TransformerDecoderLayer, placement, activation)
    ours = config(placement, activation).build_decoder_layer().double()
    copy_attention(ours.self, theirs.self_attn)
    copy_attention(ours.cross, theirs.multihead_attn)
    copy_rest(ours, theirs, ["norm1", "norm2", "norm3"])

    x = torch.randn(B, Lt, D, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(B, Ls, D, dtype=torch.float64, requires_grad=True)
    future = torch.ones(Lt, Lt, dtype=torch.bool).triu(1)
    padding = torch.rand(B, Ls) < 0.4
    padding[:, 0] = False
    positions = torch.arange(Lt)
    mine = ours(
        x, memory, Scope(positions, positions, Mask.causal()), Scope(positions, torch.arange(Ls), Mask.keys(~padding))
    )
    assert_same(mine, theirs(x, memory, tgt_mask=future, memory_key_padding_mask=padding), [x, memory])
