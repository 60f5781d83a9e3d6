"""The feed-forward network: each token thinks for itself, between two rounds of attention.

relu, gelu   f(x W_inᵀ + b) W_outᵀ + b                        Vaswani et al. 2017; Hendrycks & Gimpel 2016
swiglu       (swish(x W_gateᵀ) ⊙ (x W_inᵀ)) W_outᵀ            Shazeer 2020
"""

from collections.abc import Callable

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.tap import tap

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}


def linear(d_in: int, d_out: int, bias: bool) -> nn.Linear:
    """A linear map that keeps the variance of what passes through (Glorot & Bengio 2010)."""
    layer = nn.Linear(d_in, d_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class FeedForward(nn.Module):
    """f(x W_inᵀ + b) W_outᵀ + b, with f one of ReLU, GELU, swish by name, or any function."""

    def __init__(
        self, d_model: int, d_ff: int, activation: str | Callable[[Tensor], Tensor] = "relu", bias: bool = True
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation] if isinstance(activation, str) else activation
        self.inner = linear(d_model, d_ff, bias)
        self.outer = linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B L d"]) -> Float[Tensor, "B L d"]:
        hidden = tap(self, "hidden", self.activation(self.inner(x)))  # [B, L, d_ff]
        return tap(self, "", self.outer(hidden))


class SwiGLU(nn.Module):
    """(swish(x W_gateᵀ) ⊙ (x W_inᵀ)) W_outᵀ: one half opens or shuts the other."""

    def __init__(self, d_model: int, d_ff: int, bias: bool = False) -> None:
        super().__init__()
        self.gate = linear(d_model, d_ff, bias)
        self.inner = linear(d_model, d_ff, bias)
        self.outer = linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B L d"]) -> Float[Tensor, "B L d"]:
        gate = tap(self, "opening", F.silu(self.gate(x)))
        hidden = tap(self, "hidden", gate * self.inner(x))  # [B, L, d_ff]
        return tap(self, "", self.outer(hidden))
