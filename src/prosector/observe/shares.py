"""Who spoke for this word? A logit taken apart into what each head, each network and the embedding added to it.

A residual path only ever adds, so what comes out of a stack is a sum of vectors. A norm is linear too once its mean and
deviation are given, as they are in a run that is over; then the table of words is a dot product with each of them:

    x = embedding + Σ heads + Σ networks + biases        norm(x) = (x - mean) / deviation · γ + β
    logit_w = Σ over parts of  w · (part - its mean) / deviation · γ       + w · β + b_w

The shares sum to the logit. What a head wrote into the path early may be read by later ones; that is theirs here.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import MultiHeadAttention
from prosector.blocks.norms import BatchNorm, RMSNorm
from prosector.blocks.residual import PostNorm
from prosector.observe.observing import Seen

Parts = dict[str, Float[Tensor, "B L d"]]


def through_norm(norm: nn.Module, parts: Parts, name: str) -> Parts:
    """The parts of norm(Σ parts), its β a part of its own.

    Raises:
        ValueError: it is batch norm, whose statistics belong to no row.
    """
    if isinstance(norm, BatchNorm):
        raise ValueError("batch norm counts over a batch, so that no row's logit has shares; use layer or rms norm")
    known: Any = norm
    x = sum(parts.values(), torch.zeros(()))
    weight = known.weight.double()
    if isinstance(norm, RMSNorm):
        deviation = (x.square().mean(-1, keepdim=True) + known.eps).sqrt()
        return {part: value / deviation * weight for part, value in parts.items()}
    deviation = (x.var(-1, correction=0, keepdim=True) + known.eps).sqrt()
    normed = {part: (value - value.mean(-1, keepdim=True)) / deviation * weight for part, value in parts.items()}
    if known.bias is not None:
        normed[f"{name}.bias"] = known.bias.double().expand_as(x)
    return normed


def of_attention(attention: MultiHeadAttention, seen: Seen, address: str) -> Parts:
    """What each head added, and the output's bias."""
    heads = seen[f"{address}.heads"].double()  # [B, H, L, d_v]
    output: Any = attention.output
    matrix = output.weight.double().unflatten(1, (attention.n_heads, attention.d_value))  # [d, H, d_v]
    added = torch.einsum("bhlv,dhv->hbld", heads, matrix)
    parts = {f"{address}.head {number}": value for number, value in enumerate(added)}
    if output.bias is not None:
        parts[f"{address}.bias"] = output.bias.double().expand_as(added[0])
    return parts


def parts_of(model: nn.Module, seen: Seen, stack: str = "decoder") -> Parts:
    """The vectors whose sum comes out of a stack, by address; [B, L, d] in float64.

    Args:
        seen: a run with everything of the stack recorded, in one piece, in evaluation.

    Raises:
        KeyError: it was not recorded.
        ValueError: its norms are batch norms.
    """
    module: Any = model.get_submodule(stack)
    parts: Parts = {f"{stack}.input": seen[f"{stack}.input"].double()}
    for number, layer in enumerate(module.layers):
        names = ("self", "cross") if hasattr(layer, "cross") else ("attention",)
        for place, name in enumerate((*names, "feed_forward"), start=1):
            address, block = f"{stack}.{number}.{name}", getattr(layer, name)
            if isinstance(block, MultiHeadAttention):
                parts |= of_attention(block, seen, address)
            else:
                parts[address] = seen[address].double()
            if isinstance(layer.residual, PostNorm):
                parts = through_norm(getattr(layer, f"norm{place}"), parts, f"{stack}.{number}.norm{place}")
    if module.final_norm is not None:
        parts = through_norm(module.final_norm, parts, f"{stack}.final_norm")
    scale = getattr(model, "output_scale", 1.0)
    return {name: value * scale for name, value in parts.items()}


def logit_shares(
    model: nn.Module, seen: Seen, *, row: int = 0, position: int, token: int, stack: str = "decoder"
) -> dict[str, float]:
    """What each part adds to the logit of a token at a position; they sum to it.

    Args:
        row: of the batch.
        position: after which target token.
        token: which word's logit.

    Raises:
        KeyError, ValueError: as for `parts_of`.
    """
    table: Any = getattr(model, "output", None) or getattr(model, "embedding", None)
    word = table.weight[token].double()
    shares = {name: (value[row, position] @ word).item() for name, value in parts_of(model, seen, stack).items()}
    bias = getattr(table, "bias", None)
    return shares if bias is None else shares | {"output.bias": bias[token].item()}
