"""The feed-forward network, by hand."""

import math

import pytest
import torch
from tests.helpers import Watch, stirred, watching

from prosector.blocks import FeedForward, GeGLU, SwiGLU
from prosector.blocks.feed_forward import ACTIVATIONS

BY_HAND = {
    "relu": lambda x: max(x, 0.0),
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "swish": lambda x: x / (1 + math.exp(-x)),
}


def set_weights(linear, weight, bias=None):
    linear.weight.data = torch.tensor(weight)
    if bias is not None:
        linear.bias.data = torch.tensor(bias)


@pytest.mark.parametrize("activation", BY_HAND)
def test_one_feature_through_two_hidden_ones(activation):
    """x = 3: hidden f(2·3 - 4) = f(2) and f(-1·3 + 1) = f(-2); output 1·f(2) + 10·f(-2) + 0.5"""
    block = FeedForward(1, 2, activation)
    set_weights(block.inner, [[2.0], [-1.0]], [-4.0, 1.0])
    set_weights(block.outer, [[1.0, 10.0]], [0.5])
    f = BY_HAND[activation]
    assert block(torch.tensor([[[3.0]]])).item() == pytest.approx(f(2) + 10 * f(-2) + 0.5, abs=1e-5)


def test_swiglu_opens_or_shuts_each_hidden_feature():
    """x = 3: gates swish(3) and swish(-6), inner 6 and 9; output swish(3)·6 + 10·swish(-6)·9"""
    block = SwiGLU(1, 2)
    set_weights(block.gate, [[1.0], [-2.0]])
    set_weights(block.inner, [[2.0], [3.0]])
    set_weights(block.outer, [[1.0, 10.0]])
    swish = BY_HAND["swish"]
    assert block(torch.tensor([[[3.0]]])).item() == pytest.approx(swish(3) * 6 + 10 * swish(-6) * 9, abs=1e-4)


@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_each_token_thinks_for_itself(make):
    block, x = stirred(make(4, 6)), torch.randn(2, 5, 4)
    whole = block(x)
    for position in range(5):
        torch.testing.assert_close(block(x[:, position : position + 1]), whole[:, position : position + 1])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_a_bias_is_on_every_map_or_on_none(make, bias):
    assert {linear.bias is not None for linear in make(4, 6, bias=bias).children()} == {bias}


@pytest.mark.parametrize("make", [FeedForward, SwiGLU])
def test_the_hidden_features_can_be_seen_and_switched_off(make):
    block, x = stirred(make(4, 6)), torch.randn(1, 3, 4)
    with watching(Watch({(block, "hidden"): torch.zeros_like})) as watch:
        y = block(x)
    assert watch.values(block, "hidden")[0].shape == (1, 3, 6)
    bias = 0.0 if block.outer.bias is None else block.outer.bias
    torch.testing.assert_close(y, torch.zeros(1, 3, 4) + bias)


def test_geglu_is_swiglu_with_gelus_tanh_formula():
    """x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))) at 1 is 0.8412; the exact GELU is 0.8413."""
    block = GeGLU(1, 1)
    for weight, value in zip((block.gate.weight, block.inner.weight, block.outer.weight), (1.0, 2.0, 3.0), strict=True):
        torch.nn.init.constant_(weight, value)
    assert block(torch.ones(1, 1, 1)).item() == pytest.approx(0.841192 * 2 * 3, abs=1e-5)
    exact, by_tanh = ACTIVATIONS["gelu"](torch.tensor(1.0)), ACTIVATIONS["gelu-tanh"](torch.tensor(1.0))
    assert 1e-5 < (exact - by_tanh).abs() < 1e-3
