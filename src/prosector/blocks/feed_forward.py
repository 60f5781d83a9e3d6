"""The feed-forward network: each token thinks for itself, between two rounds of attention.

relu, gelu   f(x W_inᵀ + b) W_outᵀ + b                        Vaswani et al. 2017; Hendrycks & Gimpel 2016
gelu-tanh    the same with GELU's tanh formula, which GPT-2, BLOOM and T5 were trained with
swiglu       (swish(x W_gateᵀ) ⊙ (x W_inᵀ)) W_outᵀ            Shazeer 2020
geglu        the same with gelu-tanh in place of swish        (T5 since its version 1.1)
"""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.tap import tap

gelu_tanh = partial(F.gelu, approximate="tanh")  # x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu-tanh": gelu_tanh,
    "swish": F.silu,
}


def linear(d_in: int, d_out: int, bias: bool) -> nn.Linear:
    """A linear map that keeps the variance of what passes through (Glorot & Bengio 2010)."""
    layer = nn.Linear(d_in, d_out, bias=bias)
    nn.init.xavier_uniform_(layer.weight)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


class FeedForward(nn.Module):
    """f(x W_inᵀ + b) W_outᵀ + b, with f one of ACTIVATIONS by name, or any function."""

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

    opening = staticmethod(F.silu)

    def __init__(self, d_model: int, d_ff: int, bias: bool = False) -> None:
        super().__init__()
        self.gate = linear(d_model, d_ff, bias)
        self.inner = linear(d_model, d_ff, bias)
        self.outer = linear(d_ff, d_model, bias)

    def forward(self, x: Float[Tensor, "B L d"]) -> Float[Tensor, "B L d"]:
        gate = tap(self, "opening", self.opening(self.gate(x)))
        hidden = tap(self, "hidden", gate * self.inner(x))  # [B, L, d_ff]
        return tap(self, "", self.outer(hidden))


class GeGLU(SwiGLU):
    """(gelu(x W_gateᵀ) ⊙ (x W_inᵀ)) W_outᵀ, by GELU's tanh formula."""

    opening = staticmethod(gelu_tanh)
