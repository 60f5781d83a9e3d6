"""The way back: a block of this house as a module of `prosector.nn`, where torch.nn has a name for what it computes."""

from typing import Any

import torch
from torch import nn

import prosector.nn
from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderLayer, DecoderStack, EncoderLayer, EncoderStack, FeedForward, LayerNorm
from prosector.blocks.residual import PreNorm
from prosector.interop.names import names_of, torch_names
from prosector.positions import Position

BLOCKS = (MultiHeadAttention, EncoderLayer, DecoderLayer, EncoderStack, DecoderStack)


def nn_of(block: Any, batch_first: bool) -> nn.Module:
    """The module of `prosector.nn` with the weights of a block; a bias that the block lacks is zero.

    Raises:
        ValueError: the block has a part that torch.nn has not; it is named.
    """
    with torch.device("meta"):
        module = unfilled(block, batch_first)
    state = torch_names(block.state_dict(), names_of(type(block).__name__))
    like = next(iter(state.values()))
    for name, weight in module.state_dict().items():
        if name not in state:  # torch.nn has one `bias` for all that could have one
            state[name] = torch.zeros(weight.shape, dtype=like.dtype, device=like.device)
    module.load_state_dict(state, assign=True)
    return module.train(block.training)


def unfilled(block: Any, batch_first: bool) -> nn.Module:
    """The module without weights yet."""
    if isinstance(block, MultiHeadAttention):
        return attention_of(block, batch_first)
    if isinstance(block, EncoderLayer | DecoderLayer):
        return layer_of(block, batch_first)
    if type(block.position) is not Position:
        raise ValueError(
            f"{type(block.position).__name__}: torch.nn's stacks have no positions; those are the caller's"
        )
    if block.dropout.p:
        raise ValueError(f"dropout {block.dropout.p} after the embeddings: torch.nn's stacks begin after it")
    if block.first_norm is not None:
        raise ValueError(f"{type(block.first_norm).__name__} on the embeddings: torch.nn's stacks begin after it")
    cls = prosector.nn.TransformerEncoder if isinstance(block, EncoderStack) else prosector.nn.TransformerDecoder
    layers = [layer_of(layer, batch_first) for layer in block.layers]
    stack = cls(layers[0], len(layers), None if block.final_norm is None else norm_of(block.final_norm))
    stack.layers = nn.ModuleList(layers)
    return stack


def attention_of(block: MultiHeadAttention, batch_first: bool) -> prosector.nn.MultiheadAttention:
    """torch.nn's attention: as many key heads as query heads, d_model / n_heads features in each, 1/√d_k."""
    d_model = block.query.in_features
    differs = {
        "n_kv_heads": block.n_kv_heads != block.n_heads,
        "d_head": block.d_head * block.n_heads != d_model,
        "d_value": block.d_value != block.d_head,
        "scale": block.scale is not None,
        "output": not isinstance(block.output, nn.Linear),
    }
    if any(differs.values()):
        named = ", ".join(f"{name}={getattr(block, name)}" for name, found in differs.items() if found)
        raise ValueError(f"torch.nn's attention cannot have {named}")
    return prosector.nn.MultiheadAttention(
        d_model,
        block.n_heads,
        block.dropout.p,
        bias=any(name.endswith("bias") for name in block.state_dict()),
        kdim=block.key.in_features,
        vdim=block.value.in_features,
        batch_first=batch_first,
    )


def layer_of(block: Any, batch_first: bool) -> nn.Module:
    """torch.nn's layer, with dropout where the block has it."""
    if not isinstance(block.feed_forward, FeedForward):
        raise ValueError(f"{type(block.feed_forward).__name__}: torch.nn's feed-forward is linear, activation, linear")
    is_encoder = isinstance(block, EncoderLayer)
    attentions = (
        {"self_attn": block.attention} if is_encoder else {"self_attn": block.self, "multihead_attn": block.cross}
    )
    norms = [norm_of(getattr(block, name)) for name in ("norm1", "norm2", "norm3")[: len(attentions) + 1]]
    cls = prosector.nn.TransformerEncoderLayer if is_encoder else prosector.nn.TransformerDecoderLayer
    layer = cls(
        block.feed_forward.inner.in_features,
        attentions["self_attn"].n_heads,
        block.feed_forward.inner.out_features,
        block.residual.dropout.p,
        block.feed_forward.activation,
        norms[0].eps,
        batch_first,
        isinstance(block.residual, PreNorm),
        bias=any(name.endswith("bias") for name in block.state_dict()),
    )
    layer.dropout.p = 0.0  # a block drops nothing inside its feed-forward
    for name, attention in attentions.items():
        attention_of(attention, batch_first)  # raises if torch.nn has none like it
        getattr(layer, name).dropout.p = attention.dropout.p
    for number, norm in enumerate(norms, start=1):
        getattr(layer, f"norm{number}").eps = norm.eps
    return layer


def norm_of(norm: nn.Module) -> LayerNorm:
    """The block's norm, if it is torch.nn's too."""
    if not isinstance(norm, LayerNorm):
        raise ValueError(f"{type(norm).__name__}: torch.nn's layers have LayerNorm")
    return LayerNorm(norm.weight.shape[0], norm.eps, norm.bias is not None)
