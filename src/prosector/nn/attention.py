"""`MultiheadAttention` with torch.nn's names, arguments, layout and defaults; inside, this project's arithmetic."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from prosector.attention import Mask, Scope, functional
from prosector.attention.heads import Heads
from prosector.attention.kernels import sdpa
from prosector.nn.masks import scope_of
from prosector.tap import tap


class MultiheadAttention(Heads):
    """softmax(Q Kᵀ / √d_k) V in num_heads heads, with one output projection.

    Weights carry torch.nn's names: `in_proj_weight` [3·embed_dim, embed_dim] (queries, keys, values), or
    `q_proj_weight`, `k_proj_weight` and `v_proj_weight` if kdim or vdim differ; `in_proj_bias`, `out_proj`, and
    `bias_k`, `bias_v`. With the same seed they begin with the same numbers.

    Args:
        embed_dim: features of queries and outputs.
        num_heads: how many heads.
        dropout: the share of weights dropped in training.
        bias: whether the projections add one.
        add_bias_kv: whether a learned key and value are put after the others.
        add_zero_attn: whether a key and value of zeros are.
        kdim: features of the keys' sequence; embed_dim by default.
        vdim: features of the values' sequence; embed_dim by default.
        batch_first: [B, L, d] in and out; [L, B, d] otherwise.

    Raises:
        ValueError: heads that do not divide embed_dim.
    """

    in_proj_weight: nn.Parameter | None
    q_proj_weight: nn.Parameter | None
    k_proj_weight: nn.Parameter | None
    v_proj_weight: nn.Parameter | None
    in_proj_bias: nn.Parameter | None
    bias_k: nn.Parameter | None
    bias_v: nn.Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_heads, dropout, sdpa)
        if min(embed_dim, num_heads) < 1 or embed_dim % num_heads:
            raise ValueError(f"embed_dim={embed_dim} does not divide into num_heads={num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        self.add_zero_attn, self.batch_first = add_zero_attn, batch_first

        made = {"device": device, "dtype": dtype}
        one_matrix = self.kdim == self.vdim == embed_dim
        sizes = {"in_proj_weight": (3 * embed_dim, embed_dim)} if one_matrix else {}
        apart = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        sizes |= {} if one_matrix else {name: (embed_dim, d_in) for name, d_in in apart.items()}
        for name in ("in_proj_weight", *apart):
            self.register_parameter(name, nn.Parameter(torch.empty(sizes[name], **made)) if name in sizes else None)
        self.register_parameter("in_proj_bias", nn.Parameter(torch.empty(3 * embed_dim, **made)) if bias else None)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=bias, **made)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, nn.Parameter(torch.empty(1, 1, embed_dim, **made)) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """New weights: projections by Glorot & Bengio 2010 (uniform), biases zero."""
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if (weight := getattr(self, name)) is not None:
                nn.init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            nn.init.zeros_(self.in_proj_bias)
            nn.init.zeros_(self.out_proj.bias)
        if self.bias_k is not None and self.bias_v is not None:
            nn.init.xavier_normal_(self.bias_k)
            nn.init.xavier_normal_(self.bias_v)

    def reset_parameters(self) -> None:
        """New weights for all, the output projection's included."""
        self.out_proj.reset_parameters()
        self._reset_parameters()

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Bool[Tensor, "*B Lk"] | Float[Tensor, "*B Lk"] | None = None,
        need_weights: bool = True,
        attn_mask: Bool[Tensor, "*BH Lq Lk"] | Float[Tensor, "*BH Lq Lk"] | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Let queries look at keys, and mix values; one sequence [L, d] or a batch of them.

        Args:
            query: [Lq, B, embed_dim], or [B, Lq, embed_dim] with batch_first; `key` and `value` likewise.
            key_padding_mask: which keys of each row are forbidden (True), or what is added to their scores.
            need_weights: whether the weights are returned too; they are those before dropout.
            attn_mask: which pairs are forbidden (True), or what is added; for all, or for each row and head.
            average_attn_weights: the mean over heads, [B, Lq, Lk], or all of them, [B, H, Lq, Lk].
            is_causal: no query looks ahead; with an attn_mask both must say so.

        Raises:
            ValueError: a mask does not fit, holds 0s and 1s in floats, or contradicts is_causal.
        """
        single = query.ndim == 2
        if single and key_padding_mask is not None:
            key_padding_mask = key_padding_mask[None]
        query, key, value = (self._batch_first(x) for x in (query, key, value))  # [B, L, d]
        rows, n_queries, n_keys = query.shape[0], query.shape[1], key.shape[1]
        scope = scope_of(attn_mask, key_padding_mask, is_causal, rows, self.num_heads, n_queries, n_keys, query.device)
        query, key, value = self._project(query, key, value)  # [B, L, embed_dim]
        key, value, scope = self._extra_keys(key, value, scope)
        query, key, value = (functional.split_heads(x, self.num_heads) for x in (query, key, value))  # [B, H, L, d]
        query, key, value = tap(self, "query", query), tap(self, "key", key), tap(self, "value", value)

        scope, weights = scope.seen_by(self), None
        if need_weights:
            weights = self.weigh(query, key, scope)  # [B, H, Lq, Lk]
            heads = self.mix_values(weights, value)
            weights = (weights.mean(dim=1) if average_attn_weights else weights).to(query.dtype)
        else:
            heads = self.attend(query, key, value, scope)
        out = self.out_proj(functional.merge_heads(tap(self, "heads", heads)))
        out = tap(self, "", out)  # [B, Lq, embed_dim]
        if single:
            return out[0], None if weights is None else weights[0]
        return out if self.batch_first else out.transpose(0, 1), weights

    def _batch_first(self, x: Tensor) -> Float[Tensor, "B L d"]:
        if x.ndim == 2:
            return x[None]
        return x if self.batch_first else x.transpose(0, 1)

    def _project(self, *inputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values, each by its own rows of the matrix, or by its own matrix."""
        weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        biases = (None, None, None) if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        query, key, value = (F.linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True))
        return query, key, value

    def _extra_keys(self, key: Tensor, value: Tensor, scope: Scope) -> tuple[Tensor, Tensor, Scope]:
        """The learned key and the key of zeros, after the others: every query may look at them."""
        rows, n_keys = key.shape[:2]
        if self.bias_k is not None and self.bias_v is not None:
            key = torch.cat([key, self.bias_k.expand(rows, 1, -1)], dim=1)
            value = torch.cat([value, self.bias_v.expand(rows, 1, -1)], dim=1)
        if self.add_zero_attn:
            key, value = F.pad(key, (0, 0, 0, 1)), F.pad(value, (0, 0, 0, 1))
        return key, value, widened(scope, key.shape[1] - n_keys)


def widened(scope: Scope, more: int) -> Scope:
    """The same with some keys more at the end, at which everything may look."""
    if more == 0:
        return scope
    n_keys = scope.key_positions.shape[-1] + more
    mask = None if scope.may_look is None else Mask.dense(F.pad(scope.may_look, (0, more), value=True))
    bias = None if scope.bias is None else F.pad(scope.bias, (0, more))
    return Scope(scope.query_positions, torch.arange(n_keys, device=scope.key_positions.device), mask, bias)
