"""The same arithmetic by other means: by SDPA, by FlexAttention; `short.py` and `long.py` have one for such lines.

Each kernel has the same signature and equals `functional.attention`, forward and gradients (FlexAttention's only
exist on a GPU, where `benchmarks/gpu.sh` compares them), for every mask and bias, rows that may look at nothing
included. Which one is fastest depends on the machine and the length; which one runs never changes the result beyond
rounding.

Shapes: query [B, H, Lq, d_k], key [B, Hkv, Lk, d_k], value [B, Hkv, Lk, d_v] → [B, H, Lq, d_v].
"""

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from prosector.attention.masks import Pairs
from prosector.attention.scope import Scope

Kernel = Callable[[Tensor, Tensor, Tensor, Scope, float | None], Tensor]


def sdpa(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None = None) -> Tensor:
    """PyTorch's scaled_dot_product_attention, with empty rows made right.

    Given an empty row PyTorch's kernels return NaN or a mean of everything, depending on the one that runs.
    Here such a row looks at everything, and what came out of it is set to zero.
    """
    grouped = key.shape[1] != query.shape[1]
    bias = scope.bias
    if bias is None and scope.is_causal:  # nothing has to be made dense
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scale, enable_gqa=grouped)
    may_look = scope.may_look_of(query)
    if may_look is None:
        mask = None if bias is None else bias.to(query.dtype).expand(query.shape[0], -1, -1, -1)
        return F.scaled_dot_product_attention(query, key, value, mask, scale=scale, enable_gqa=grouped)

    some = may_look.any(dim=-1, keepdim=True)  # [B, H, Lq, 1]
    mask = may_look | ~some
    if bias is not None:
        mask = bias.to(query.dtype).masked_fill(~mask, -torch.inf)
    heads = F.scaled_dot_product_attention(query, key, value, mask, scale=scale, enable_gqa=grouped)
    return heads.masked_fill(~some, 0.0)


def flex(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None = None) -> Tensor:
    """FlexAttention, which asks the mask's rule pair by pair; meant for a GPU, where it is compiled.

    On a CPU it runs uncompiled: exact, slow, and without gradients.

    Raises:
        NotImplementedError: gradients are wanted on a CPU.
    """
    if query.device.type == "cpu" and torch.is_grad_enabled() and query.requires_grad:
        raise NotImplementedError('FlexAttention has no gradients on a CPU; train with kernel "written-out" or "sdpa"')
    rows, n_heads, n_queries, _ = query.shape
    n_keys = key.shape[2]
    query_positions = scope.query_positions.expand(rows, n_queries)
    key_positions = scope.key_positions.expand(rows, n_keys)
    mask, may_look = scope.mask, scope.may_look_of(query)
    bias = None if scope.bias is None else scope.bias.expand(rows, n_heads, -1, -1)

    def allows(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return mask.allows(Pairs(b, h, i, j, query_positions[b, i], key_positions[b, j]))  # type: ignore[union-attr]

    def add_bias(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return score + bias[b, h, i, j]  # type: ignore[index]

    block = None
    if mask is not None:
        block = create_block_mask(allows, rows, n_heads, n_queries, n_keys, device=query.device)
    options: dict[str, Any] = {"scale": scale, "enable_gqa": key.shape[1] != n_heads}
    with warnings.catch_warnings():  # it warns of running uncompiled, which is what is wanted on a CPU
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        heads = _flex(query.device.type)(query, key, value, None if bias is None else add_bias, block, **options)
    return heads if may_look is None else heads.masked_fill(~may_look.any(-1, keepdim=True), 0.0)


@functools.cache
def _flex(device: str) -> Callable[..., Tensor]:
    return flex_attention if device == "cpu" else torch.compile(flex_attention)  # type: ignore[return-value]
