"""Attention as arithmetic, in the order in which one learns it.

Read this file first. Every fast kernel of this package is tested to equal it.

    1. similarity            x · y                    how alike two vectors are
    2. softmax_over_keys     softmax(scores)          how much of each to take
    3. self_attention        softmax(x xᵀ) x          attention without a single parameter
    4. causal                j ≤ i                    no looking into the future
    5. project               x Wᵀ + b                 queries, keys and values of their own
    6. scaled_scores         Q Kᵀ / √d_k              so that softmax does not saturate
    7. attention             softmax(Q Kᵀ / √d_k) V   the weighted sum
    8. split / merge_heads   h of them side by side   multi-head

Shapes: B batch, H heads, Lq queries, Lk keys, d features, d_k and d_v features of a head.
Masks say what a query *may* look at: True is allowed.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def accumulation_type(dtype: torch.dtype) -> torch.dtype:
    """The type in which softmax and statistics are computed: float32 at least."""
    return torch.promote_types(dtype, torch.float32)


def as_autocast_does(x: Tensor) -> Tensor:
    """In the type of autocast, where it is on, so that what several products read is cast once; float64 stays."""
    device = x.device.type
    narrowed = torch.is_autocast_enabled(device) and x.dtype != torch.float64
    return x.to(torch.get_autocast_dtype(device)) if narrowed else x


def in_full(x: Tensor) -> Tensor:
    """Wide enough to sum products in; as it is under autocast, which chooses the type of products itself."""
    return x if torch.is_autocast_enabled(x.device.type) else x.to(accumulation_type(x.dtype))


def similarity(x: Float[Tensor, "*B Lq d"], y: Float[Tensor, "*B Lk d"]) -> Float[Tensor, "*B Lq Lk"]:
    """The dot product of each row of x with each row of y: x yᵀ.

    Raises:
        ValueError: the rows differ in length.
    """
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"queries have {x.shape[-1]} features and keys {y.shape[-1]}; a dot product needs the same number"
        )
    return x @ y.transpose(-2, -1)


def softmax_over_keys(
    scores: Float[Tensor, "*B Lq Lk"], may_look: Bool[Tensor, "*#B Lq Lk"] | None = None
) -> Float[Tensor, "*B Lq Lk"]:
    """Turn each row of scores into weights that sum to one, over the keys that may be looked at.

    A forbidden key's weight is exactly 0. A row in which every key is forbidden becomes zeros,
    where PyTorch's own attention gives NaN. Computed in float32 at least.
    """
    scores = scores.to(accumulation_type(scores.dtype))
    if may_look is None:
        return scores.softmax(dim=-1)

    # Forbidden scores become -inf, so that their weight is exactly 0. An empty row would be 0/0:
    # it is softmaxed over its harmless scores first and cleared afterwards, so gradients stay finite.
    some = may_look.any(dim=-1, keepdim=True)  # [.., Lq, 1]
    scores = scores.masked_fill(~may_look & some, -torch.inf)
    return scores.softmax(dim=-1).masked_fill(~some, 0.0)


def self_attention(
    x: Float[Tensor, "*B L d"], may_look: Bool[Tensor, "*#B L L"] | None = None
) -> Float[Tensor, "*B L d"]:
    """Attention without parameters: softmax(x xᵀ) x. Each row becomes a mean of the rows like it."""
    return softmax_over_keys(similarity(x, x), may_look).to(x.dtype) @ x


def causal(length: int) -> Bool[Tensor, "L L"]:
    """The mask of a writer: position i may look at j ≤ i, itself and the past."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def project(
    x: Float[Tensor, "*B L d_in"], weight: Float[Tensor, "d_out d_in"], bias: Float[Tensor, " d_out"] | None = None
) -> Float[Tensor, "*B L d_out"]:
    """A linear map of every row, x Wᵀ + b; the weight is stored as torch.nn does, [out, in]."""
    y = x @ weight.T
    return y if bias is None else y + bias


def scaled_scores(
    query: Float[Tensor, "*B Lq d_k"],
    key: Float[Tensor, "*B Lk d_k"],
    scale: float | None = None,
    bias: Float[Tensor, "*#B Lq Lk"] | None = None,
) -> Float[Tensor, "*B Lq Lk"]:
    """How well each query fits each key: Q Kᵀ / √d_k, plus what positions add.

    With independent features of variance one a dot product has variance d_k; dividing by √d_k
    brings it back to one, so that softmax keeps a gradient (Vaswani et al. 2017, section 3.2.1).
    `scale` stands in the place of 1/√d_k for models that use another (T5 uses 1).
    """
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = similarity(in_full(query), in_full(key)) * factor
    return scores if bias is None else scores + bias.to(accumulation_type(scores.dtype))


def attention_weights(
    query: Float[Tensor, "*B Lq d_k"],
    key: Float[Tensor, "*B Lk d_k"],
    may_look: Bool[Tensor, "*#B Lq Lk"] | None = None,
    bias: Float[Tensor, "*#B Lq Lk"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*B Lq Lk"]:
    """How much each query looks at each key: softmax(Q Kᵀ / √d_k + bias), row by row."""
    return softmax_over_keys(scaled_scores(query, key, scale, bias), may_look)


def attention(
    query: Float[Tensor, "*B Lq d_k"],
    key: Float[Tensor, "*B Lk d_k"],
    value: Float[Tensor, "*B Lk d_v"],
    may_look: Bool[Tensor, "*#B Lq Lk"] | None = None,
    bias: Float[Tensor, "*#B Lq Lk"] | None = None,
    scale: float | None = None,
) -> Float[Tensor, "*B Lq d_v"]:
    """Mix the values by those weights: each output row is a weighted mean of value rows."""
    return attention_weights(query, key, may_look, bias, scale).to(value.dtype) @ value


def split_heads(x: Float[Tensor, "B L Hd"], n_heads: int) -> Float[Tensor, "B H L d"]:
    """Cut the features into heads, side by side: [B, L, H·d] becomes [B, H, L, d].

    Raises:
        ValueError: the features do not divide into that many heads.
    """
    if x.shape[-1] % n_heads:
        raise ValueError(f"{x.shape[-1]} features do not divide into {n_heads} heads")
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(heads: Float[Tensor, "B H L d"]) -> Float[Tensor, "B L Hd"]:
    """Lay the heads side by side again: the inverse of `split_heads`."""
    return heads.transpose(1, 2).flatten(2)


def share_heads(x: Float[Tensor, "B Hkv L d"], n_heads: int) -> Float[Tensor, "B H L d"]:
    """Let groups of query heads share a key head (Ainslie et al. 2023): each is repeated H/Hkv times."""
    return x if x.shape[1] == n_heads else x.repeat_interleave(n_heads // x.shape[1], dim=1)
