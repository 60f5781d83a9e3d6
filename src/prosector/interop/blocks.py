"""This house's blocks, as its models are built from them, with the weights of torch.nn's modules and back.

    torch.nn                        blocks
    MultiheadAttention              MultiHeadAttention        a matrix each for queries, keys and values
    TransformerEncoderLayer         EncoderLayer
    TransformerEncoder              EncoderStack              without positions: torch.nn leaves them to the caller
    TransformerDecoderLayer         DecoderLayer
    TransformerDecoder              DecoderStack              causal unless another mask is given

A block is batch first, takes a `Mask` or a `Scope` (True may look), and drops in training after sublayers only.
"""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import prosector.nn
from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderLayer, DecoderStack, EncoderLayer, EncoderStack, FeedForward, LayerNorm
from prosector.blocks.residual import PostNorm, PreNorm
from prosector.interop.names import block_names, names_of
from prosector.positions import Position


def blocks_of(module: Any) -> Any:
    """The block with copies of the weights of a module of torch.nn or `prosector.nn`.

    Raises:
        ValueError: no block computes this: a Transformer (take its encoder and its decoder), keys and values of
            different features, or keys that are learned.
    """
    name = type(module).__name__
    if type(module) not in (getattr(torch.nn, name, None), getattr(prosector.nn, name, None)) or name not in LIKE:
        way_out = "; take its encoder and its decoder" if name == "Transformer" else ""
        raise ValueError(f"no block is known to compute what {name} does{way_out}")
    with torch.device("meta"):
        block = LIKE[name](module)
    state = {name: weight.detach().clone() for name, weight in module.state_dict().items()}
    block.load_state_dict(block_names(state, names_of(name)), assign=True)
    return block.train(module.training)


def attention_like(module: Any) -> MultiHeadAttention:
    """A block's attention, without weights."""
    if module.kdim != module.vdim:
        raise ValueError(f"a block takes keys and values from one sequence, not kdim={module.kdim}, vdim={module.vdim}")
    if module.bias_k is not None or module.add_zero_attn:
        raise ValueError("a block has no keys besides its sequence's; here are add_bias_kv or add_zero_attn")
    return MultiHeadAttention(
        module.embed_dim,
        module.num_heads,
        d_source=module.kdim,
        bias=module.in_proj_bias is not None,
        dropout=getattr(module.dropout, "p", module.dropout),
    )


def layer_like(module: Any) -> EncoderLayer | DecoderLayer:
    """A block's layer, without weights."""
    d_ff, d_model = module.linear1.weight.shape
    feed_forward = FeedForward(d_model, d_ff, copy.deepcopy(module.activation), module.linear1.bias is not None)
    residual = (PreNorm if module.norm_first else PostNorm)(module.dropout.p)
    attention = attention_like(module.self_attn)
    if not hasattr(module, "multihead_attn"):
        return EncoderLayer(attention, feed_forward, residual, norm_like(module.norm1), norm_like(module.norm2))
    norms = [norm_like(getattr(module, f"norm{number}")) for number in (1, 2, 3)]
    return DecoderLayer(attention, attention_like(module.multihead_attn), feed_forward, residual, *norms)


def stack_like(module: Any) -> EncoderStack | DecoderStack:
    """A block's stack, without weights and without positions."""
    layers = [layer_like(layer) for layer in module.layers]
    stack = DecoderStack if isinstance(layers[0], DecoderLayer) else EncoderStack
    return stack(layers, Position(), None if module.norm is None else norm_like(module.norm), dropout=0.0)


def norm_like(norm: Any) -> LayerNorm:
    """A block's norm, without weights."""
    if not isinstance(norm, nn.LayerNorm | LayerNorm) or norm.weight is None or norm.weight.ndim != 1:
        raise ValueError(f"{type(norm).__name__} as a norm; blocks know a LayerNorm with weights over the features")
    return LayerNorm(norm.weight.shape[0], norm.eps, norm.bias is not None)


LIKE: dict[str, Callable[[Any], nn.Module]] = {
    "MultiheadAttention": attention_like,
    "TransformerEncoderLayer": layer_like,
    "TransformerDecoderLayer": layer_like,
    "TransformerEncoder": stack_like,
    "TransformerDecoder": stack_like,
}
