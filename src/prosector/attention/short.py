"""Attention over short lines: every score exists, in as few passes over them as PyTorch's operations allow.

    S = scale Q Kᵀ + A      A is the bias, and -∞ where a query may not look
    W = softmax(S)          rows that may look at nothing become zeros
    O = W V

and back, from dO (Dao et al. 2022, "FlashAttention", appendix B.2):

    dV = Wᵀ dO      dW = dO Vᵀ      dS = W ∘ (dW - rowsum(W ∘ dW))      dQ = scale dS K      dK = scale dSᵀ Q

`functional.attention` has the same numbers. Left to itself, PyTorch would go over the scores once more for each
masking, there and back, and keep them twice. A, made once for all layers, costs one addition and nothing on the way
back, since a forbidden weight is 0 and so is its gradient.

Its gradients have no gradients themselves; those of `functional.attention` do.

Some operations are in float32 although autocast would do them in bf16: PyTorch's softmax of short rows is five times
as fast in float32 on a CPU, there and back.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from prosector.attention.functional import accumulation_type, as_autocast_does, attention, in_full, share_heads
from prosector.attention.scope import Scope


def written_out(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None = None) -> Tensor:
    """The arithmetic as on paper.

    Shapes: query [B, H, Lq, d_k], key [B, Hkv, Lk, d_k], value [B, Hkv, Lk, d_v] → [B, H, Lq, d_v].

    Raises:
        ValueError: the mask was made for another number of rows or heads; both are named.
    """
    key, value = share_heads(key, query.shape[1]), share_heads(value, query.shape[1])
    if torch.compiler.is_compiling():  # a compiler fuses the plain words, and cannot follow the others
        return attention(query, key, value, scope.may_look_of(query), scope.bias, scale)
    added, some = scope.added_to(query)
    # The way back runs without autocast, and must compute the same.
    query, key, value = as_autocast_does(in_full(query)), as_autocast_does(in_full(key)), as_autocast_does(value)
    return _WrittenOut.apply(query, key, value, added, some, 1 / math.sqrt(query.shape[-1]) if scale is None else scale)


class _WrittenOut(torch.autograd.Function):
    """Forward and back as above; heads and rows are one dimension inside."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, added: Tensor | None, some: Tensor | None, scale: float
    ) -> Tensor:
        rows, n_heads = query.shape[:2]
        query, key, value = flat(query), flat(key), flat(value)
        scores = torch.bmm(query, key.transpose(1, 2)).unflatten(0, (rows, n_heads))
        scores = scores * scale if added is None else torch.add(added, scores, alpha=scale)
        weights = scores.softmax(-1, dtype=accumulation_type(scores.dtype))
        if some is not None:
            weights.mul_(some)
        ctx.save_for_backward(query, key, value, weights)
        ctx.scale, ctx.added = scale, None if added is None else added.shape
        return torch.bmm(flat(weights).to(value.dtype), value).unflatten(0, (rows, n_heads))

    @staticmethod
    @once_differentiable  # what it keeps is no function of its inputs any more
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, weights = ctx.saved_tensors
        rows_and_heads, of_output = weights.shape[:2], flat(gradients[0])
        of_value = torch.bmm(flat(weights).to(of_output.dtype).transpose(1, 2), of_output)
        of_weights = torch.bmm(of_output, value.transpose(1, 2)).view_as(weights).to(weights.dtype)
        of_scores = torch.ops.aten._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_added = of_scores.sum_to_size(ctx.added) if ctx.needs_input_grad[3] else None
        of_scores = flat(of_scores.mul(ctx.scale).to(query.dtype))
        of_query, of_key = torch.bmm(of_scores, key), torch.bmm(of_scores.transpose(1, 2), query)
        of_three = (x.unflatten(0, rows_and_heads) for x in (of_query, of_key, of_value))
        return *of_three, of_added, None, None


def flat(x: Tensor) -> Tensor:
    """Rows and heads as one dimension: [B, H, L, d] becomes [B·H, L, d]."""
    return x.reshape(-1, *x.shape[2:])
