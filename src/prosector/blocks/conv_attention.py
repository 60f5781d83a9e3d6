"""Attention in a picture whose queries, keys and values see their neighbours first.

    query = W_q · norm(depthwise₃ₓ₃(x))           every place
    key   = W_k · norm(depthwise₃ₓ₃(x))           every second place down and across: a quarter of the keys
    value = W_v · norm(depthwise₃ₓ₃(x))           likewise

A linear projection looks at one token; here a 3 × 3 window is gathered, feature by feature, before it (Wu et al. 2021,
"CvT: Introducing Convolutions to Vision Transformers", section 3.2). A class token has no neighbours and passes by.

Shapes: B batch, L tokens, h × w places, d features.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import MultiHeadAttention, Scope, functional
from prosector.tap import tap


class Neighbourhood(nn.Module):
    """norm(depthwise₃ₓ₃(x)): each feature gathered from its own neighbourhood, every `stride`-th place."""

    def __init__(self, d_model: int, stride: int) -> None:
        super().__init__()
        self.gather = nn.Conv2d(d_model, d_model, kernel_size=3, stride=stride, padding=1, groups=d_model, bias=False)
        self.norm = nn.BatchNorm2d(d_model)

    def forward(self, x: Float[Tensor, "B L d"], grid: tuple[int, int]) -> Float[Tensor, "B L2 d"]:
        """The tokens before the grid's own, such as a class token, stay as they are."""
        n_prefix = x.shape[1] - grid[0] * grid[1]
        prefix, places = x[:, :n_prefix], x[:, n_prefix:]
        picture = places.transpose(1, 2).unflatten(2, grid)  # [B, d, h, w]
        gathered = self.norm(self.gather(picture)).flatten(2).transpose(1, 2)
        return tap(self, "", torch.cat([prefix, gathered], dim=1))


class ConvAttention(nn.Module):
    """`MultiHeadAttention` over neighbourhoods instead of single tokens.

    Args:
        attention: with its projections and its kernel.
        d_model: features of a token.
        stride: 2 halves the height and width of keys and values, 1 keeps them.
    """

    def __init__(self, attention: MultiHeadAttention, d_model: int, stride: int) -> None:
        super().__init__()
        self.attention = attention
        self.query, self.key, self.value = (Neighbourhood(d_model, s) for s in (1, stride, stride))

    def forward(self, x: Float[Tensor, "B L d"], grid: tuple[int, int]) -> Float[Tensor, "B L d"]:
        """Every token looks at all gathered ones."""
        inner = self.attention
        query = functional.split_heads(inner.query(self.query(x, grid)), inner.n_heads)
        key = functional.split_heads(inner.key(self.key(x, grid)), inner.n_kv_heads)
        value = functional.split_heads(inner.value(self.value(x, grid)), inner.n_kv_heads)
        at = torch.arange(max(query.shape[2], key.shape[2]), device=x.device)
        return inner.mix(query, key, value, Scope(at[: query.shape[2]], at[: key.shape[2]]))
