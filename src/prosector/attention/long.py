"""Attention over long lines: nothing that grows with the square of the length is ever formed.

    no mask, no bias         SDPA does it, which keeps no scores
    causal, no bias          SDPA's own `is_causal`, which skips the half that is forbidden
    causal, ALiBi            the same: the bias is folded into a few more features of query and key
    anything else            a block of queries after the other, each with the keys that it can reach;
                             mask and bias are made for that block, and for the gradients made once more

A block's tables have 256 rows and at most as many columns as there are keys. A sliding window reaches few keys, so
that time grows with the length too, and not with its square.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from prosector.attention.blocks import Span, reach, spans
from prosector.attention.functional import accumulation_type, as_autocast_does
from prosector.attention.kernels import sdpa
from prosector.attention.scope import Scope

BLOCK = 256  # queries; fewer leave the processor idle, more make larger tables
FULL_WIDTHS = 8  # SDPA computes whole vectors: a width that is no multiple of 8 is slower than the next that is


def blockwise(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None = None) -> Tensor:
    """`functional.attention` in memory that grows with the length, not with its square.

    Shapes: query [B, H, Lq, d_k], key [B, Hkv, Lk, d_k], value [B, Hkv, Lk, d_v] → [B, H, Lq, d_v].

    Raises:
        ValueError: the mask was made for another number of rows, heads, queries or keys; both are named.
    """
    # The way back runs without autocast, and must compute the same.
    query, key, value = (as_autocast_does(x) for x in (query, key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    with torch.autocast(query.device.type, enabled=False):
        if scope.mask is None or scope.is_causal:
            if not scope.has_bias:
                return unblocked(query, key, value, scope.is_causal, scale)
            if scope.is_causal and (features := fold(scope)) is not None:
                return folded(query, key, value, features, scale)
        return in_blocks(query, key, value, scope, scale)


# --- all at once -----------------------------------------------------------------------------------------------------


def unblocked(query: Tensor, key: Tensor, value: Tensor, causal: bool, scale: float) -> Tensor:
    """SDPA without a table. It keeps no scores if all widths are the same, so narrower ones are filled with zeros."""
    width, d_v = max(query.shape[-1], value.shape[-1]), value.shape[-1]
    if query.shape[-1] != d_v:
        width += -width % FULL_WIDTHS
        query, key, value = (F.pad(x, (0, width - x.shape[-1])) for x in (query, key, value))
    grouped = key.shape[1] != query.shape[1]
    heads = F.scaled_dot_product_attention(query, key, value, is_causal=causal, scale=scale, enable_gqa=grouped)
    return heads[..., :d_v]


def fold(scope: Scope) -> tuple[Tensor, Tensor] | None:
    """The bias as features of queries and keys, if its position knows how; only right where no key is ahead.

    Where an observer has moved tokens, one may be.
    """
    if scope.adds is None or isinstance(scope.adds, Tensor) or scope.places is not None or scope.key_places is not None:
        return None
    return scope.adds.fold(scope.query_positions, scope.key_positions)


def folded(query: Tensor, key: Tensor, value: Tensor, features: tuple[Tensor, Tensor], scale: float) -> Tensor:
    """softmax([f_q ‖ scale · q] [f_k ‖ k]ᵀ) v, where f_q f_kᵀ is the bias.

    The features come first, so that the large numbers among them have cancelled before the small scores are added;
    and in float32 at least, as a bf16 number cannot tell position 8,191 from 8,192.
    """
    wide = accumulation_type(query.dtype)
    f_q, f_k = (f.to(wide).expand(*x.shape[:-1], -1) for f, x in zip(features, (query, key), strict=True))
    query, key = torch.cat([f_q, query.to(wide) * scale], dim=-1), torch.cat([f_k, key.to(wide)], dim=-1)
    return unblocked(query, key, value.to(wide), True, 1.0).to(value.dtype)


# --- in blocks -------------------------------------------------------------------------------------------------------


def in_blocks(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float) -> Tensor:
    """`sdpa`, a block of queries after the other."""
    n_queries, n_keys = query.shape[2], key.shape[2]
    scope.require_fit(n_queries, n_keys)
    reached = reach(scope.mask) if scope.counted else (None, None)
    blocks = spans(n_queries, n_keys, BLOCK, reached)
    if len(blocks) == 1:  # a short line, or one more token with a cache
        (queries, keys) = blocks[0]
        here = scope if keys == slice(0, n_keys) else scope.part(queries, keys)
        return sdpa(query, key[:, :, keys], value[:, :, keys], here, scale)
    return _Blocks.apply(query, key, value, scope, blocks, scale, *scope.learned)


class _Blocks(torch.autograd.Function):
    """What `sdpa` gives for each block; for the gradients each is computed once more, so that nothing of it is kept.

    What the bias is made of is an argument because it gets gradients too.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        scope: Scope,
        blocks: list[Span],
        scale: float,
        *learned: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(query, key, value, *learned)
        ctx.scope, ctx.blocks, ctx.scale = scope, blocks, scale
        whole = (query, key, value)
        return torch.cat([sdpa(*parts_of(whole, *block), scope.part(*block), scale) for block in blocks], dim=2)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, *others = ctx.saved_tensors
        learned = [x for x in others if x.requires_grad]
        wide = accumulation_type(query.dtype)  # in which many blocks' gradients are summed
        totals = [torch.zeros_like(x, dtype=wide) for x in (query, key, value)]
        of_learned = {id(x): torch.zeros_like(x) for x in learned}
        for queries, keys in ctx.blocks:
            with torch.enable_grad():
                q, k, v = (part.detach().requires_grad_() for part in parts_of((query, key, value), queries, keys))
                heads = sdpa(q, k, v, ctx.scope.part(queries, keys), ctx.scale)
            found = torch.autograd.grad(heads, [q, k, v, *learned], gradients[0][:, :, queries], materialize_grads=True)
            for part, more in zip(parts_of(totals, queries, keys), found, strict=False):
                part += more
            for x, more in zip(learned, found[3:], strict=True):
                of_learned[id(x)] += more
        return (*(x.to(query.dtype) for x in totals), None, None, None, *(of_learned.get(id(x)) for x in others))


def parts_of(tensors: Sequence[Tensor], queries: slice, keys: slice) -> tuple[Tensor, Tensor, Tensor]:
    """A block's rows of query, key and value, or of their gradients: views."""
    query, key, value = tensors
    return query[:, :, queries], key[:, :, keys], value[:, :, keys]
