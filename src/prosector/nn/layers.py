"""`TransformerEncoderLayer` and `TransformerDecoderLayer` with torch.nn's names, arguments and defaults.

post-norm   x ← norm(x + dropout(sublayer(x)))      the default, as in 2017
pre-norm    x ← x + dropout(sublayer(norm(x)))      norm_first=True
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.attention import Dropout
from prosector.blocks import LayerNorm
from prosector.nn.attention import MultiheadAttention
from prosector.tap import tap

Activation = str | Callable[[Tensor], Tensor]
Sublayer = Callable[[Tensor], Tensor]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def post_norm(x: Tensor, sublayer: Sublayer, norm: nn.Module, dropout: nn.Module) -> Tensor:
    """norm(x + dropout(sublayer(x)))"""
    return norm(x + dropout(sublayer(x)))


def pre_norm(x: Tensor, sublayer: Sublayer, norm: nn.Module, dropout: nn.Module) -> Tensor:
    """x + dropout(sublayer(norm(x)))"""
    return x + dropout(sublayer(norm(x)))


class _Layer(nn.Module):
    """What both layers have: attention, a feed-forward network, and a norm and a dropout for each residual path."""

    attentions: tuple[str, ...]
    norm1: LayerNorm
    norm2: LayerNorm
    dropout1: Dropout
    dropout2: Dropout

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if isinstance(activation, str) and activation not in ACTIVATIONS:
            raise ValueError(f'activation="{activation}" is not "relu" or "gelu"; any function can be given instead')
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self.attentions:
            self.add_module(name, MultiheadAttention(d_model, nhead, dropout, bias, batch_first=batch_first, **made))
        self.linear1 = nn.Linear(d_model, dim_feedforward, bias=bias, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = nn.Linear(dim_feedforward, d_model, bias=bias, **made)
        for number in range(1, len(self.attentions) + 2):
            self.add_module(f"norm{number}", LayerNorm(d_model, layer_norm_eps, bias).to(**made))
            self.add_module(f"dropout{number}", Dropout(dropout))
        self.norm_first = norm_first
        self.residual = pre_norm if norm_first else post_norm
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation

    def think(self, x: Tensor) -> Tensor:
        """f(x W₁ᵀ + b₁) W₂ᵀ + b₂, each token for itself."""
        hidden = tap(self, "hidden", self.activation(self.linear1(x)))  # [.., dim_feedforward]
        return self.linear2(self.dropout(hidden))


class TransformerEncoderLayer(_Layer):
    """Self-attention and feed-forward, each with a residual path and a norm.

    Args:
        d_model: features of a token.
        nhead: attention heads.
        dim_feedforward: features inside the feed-forward network.
        dropout: the share dropped in training: of attention weights, inside the feed-forward, after each sublayer.
        activation: "relu", "gelu" or any function of a tensor.
        layer_norm_eps: ε of the norms.
        batch_first: [B, L, d] in and out; [L, B, d] otherwise.
        norm_first: pre-norm; post-norm otherwise.
        bias: whether linear maps and norms add one.

    Raises:
        ValueError: an unknown activation, or heads that do not divide d_model.
    """

    attentions = ("self_attn",)
    self_attn: MultiheadAttention

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """One pass; masks as for `MultiheadAttention`, True is forbidden."""

        def look(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal)[0]

        x = self.residual(src, look, self.norm1, self.dropout1)
        x = tap(self, "attended", x)
        x = self.residual(x, self.think, self.norm2, self.dropout2)
        return tap(self, "", x)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to a memory, feed-forward; arguments as for `TransformerEncoderLayer`."""

    attentions = ("self_attn", "multihead_attn")
    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention
    norm3: LayerNorm
    dropout3: Dropout

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """One pass; masks as for `MultiheadAttention`, True is forbidden. The memory may have another length."""

        def look_back(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal)[0]

        def look_across(x: Tensor) -> Tensor:
            masks = {"key_padding_mask": memory_key_padding_mask, "attn_mask": memory_mask}
            return self.multihead_attn(x, memory, memory, need_weights=False, is_causal=memory_is_causal, **masks)[0]

        x = self.residual(tgt, look_back, self.norm1, self.dropout1)
        x = tap(self, "looked_back", x)
        x = self.residual(x, look_across, self.norm2, self.dropout2)
        x = tap(self, "looked_across", x)
        x = self.residual(x, self.think, self.norm3, self.dropout3)
        return tap(self, "", x)
