"""Attention over short lines: every score exists, in as few passes over them as PyTorch's operations allow.

    S = scale Q Kᵀ + A      A is the bias, and -∞ where a query may not look
    W = softmax(S)          rows that may look at nothing become zeros
    O = W V

and back, from dO (Dao et al. 2022, "FlashAttention", appendix B.2):

    dV = Wᵀ dO      dW = dO Vᵀ      dS = W ∘ (dW - rowsum(W ∘ dW))      dQ = scale dS K      dK = scale dSᵀ Q

`functional.attention` has the same numbers. Left to itself, PyTorch would go over the scores once more for each
masking, there and back, and keep them twice. A, made once for all layers, costs one addition and nothing on the way
back, since a forbidden weight is 0 and so is its gradient.

Gradients of gradients are wanted rarely: there the plain words are said again, and PyTorch finds both.

Some operations are in float32 although autocast would do them in bf16: PyTorch's softmax of short rows is several
times as fast in float32 on a CPU, there and back.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from prosector.attention.functional import accumulation_type, as_autocast_does, attention, in_full, share_heads
from prosector.attention.scope import Scope


def written_out(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None = None) -> Tensor:
    """The arithmetic as on paper.

    Shapes: query [B, H, Lq, d_k], key [B, Hkv, Lk, d_k], value [B, Hkv, Lk, d_v] → [B, H, Lq, d_v].

    Raises:
        ValueError: the mask was made for another number of rows or heads; both are named.
    """
    rows, n_heads = query.shape[:2]
    key, value = (share_heads(x, n_heads).expand(rows, -1, -1, -1) for x in (key, value))
    if torch.compiler.is_compiling():  # a compiler fuses the plain words, and cannot follow the others
        return attention(query, key, value, scope.may_look_of(query), scope.bias, scale)
    added, some = scope.added_to(query)
    # The way back runs without autocast, and must compute the same.
    query, key, value = as_autocast_does(in_full(query)), as_autocast_does(in_full(key)), as_autocast_does(value)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    flat = (x.flatten(0, 1) for x in (query, key, value))
    return _WrittenOut.apply(*flat, added, some, scale, n_heads).unflatten(0, (rows, n_heads))


def weigh(
    query: Float[Tensor, "BH Lq d"],
    key: Float[Tensor, "BH Lk d"],
    added: Tensor | None,
    some: Tensor | None,
    scale: float,
    n_heads: int,
) -> Float[Tensor, "BH Lq Lk"]:
    """W, in float32 at least."""
    scores = torch.bmm(query, key.transpose(1, 2)).unflatten(0, (len(query) // n_heads, n_heads))
    if added is None:
        scores = scores * scale
    else:
        scores = torch.add(added, scores, alpha=scale)
    weights = scores.softmax(-1, dtype=accumulation_type(scores.dtype))
    return (weights if some is None else weights * some).flatten(0, 1)


class _WrittenOut(torch.autograd.Function):
    """Forward and back as above; rows and heads are one dimension."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        added: Tensor | None,
        some: Tensor | None,
        scale: float,
        n_heads: int,
    ) -> Tensor:
        weights = weigh(query, key, added, some, scale, n_heads)
        ctx.save_for_backward(query, key, value, weights, added, some)
        ctx.scale, ctx.n_heads = scale, n_heads
        return torch.bmm(weights.to(value.dtype), value)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights, added, some = ctx.saved_tensors
        (of_output,) = gradients
        if torch.is_grad_enabled():  # somebody wants gradients of these gradients
            leaves = (query, key, value, added)
            wanted = [leaf for leaf, needed in zip(leaves, ctx.needs_input_grad, strict=False) if needed]
            output = torch.bmm(weigh(query, key, added, some, ctx.scale, ctx.n_heads).to(value.dtype), value)
            found = iter(torch.autograd.grad(output, wanted, of_output, create_graph=True))
            return *(next(found) if needed else None for needed in ctx.needs_input_grad[:4]), None, None, None
        of_value = torch.bmm(weights.to(of_output.dtype).transpose(1, 2), of_output)
        of_weights = torch.bmm(of_output, value.transpose(1, 2)).to(weights.dtype)
        of_scores = torch.ops.aten._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_added = None
        if ctx.needs_input_grad[3]:
            of_added = of_scores.unflatten(0, (len(query) // ctx.n_heads, ctx.n_heads)).sum_to_size(added.shape)
        of_scores = of_scores.mul(ctx.scale).to(query.dtype)
        of_query, of_key = torch.bmm(of_scores, key), torch.bmm(of_scores.transpose(1, 2), query)
        return of_query, of_key, of_value, of_added, None, None, None
