"""Normalisation: bring each row's features to a known size, so that deep stacks train.

    layer_norm   (x - mean) / √(variance + ε) · γ + β       over the features of one token
    rms_norm     x / √(mean(x²) + ε) · γ                    the same without the mean
    batch_norm   (x - mean) / √(variance + ε) · γ + β       over the tokens of a batch, feature by feature

Batch norm is here to show why Transformers do not use it: what a sentence becomes
depends on the others in its batch. Padding is left out of its statistics.

Shapes: x [B, L, d]. Variances divide by the number of values, not by that less one.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from prosector.attention.functional import accumulation_type
from prosector.tap import tap


def layer_norm(x: Float[Tensor, "*B d"], eps: float = 1e-5) -> Float[Tensor, "*B d"]:
    """Each row to mean 0 and variance 1 (Ba et al. 2016), written out; float32 at least inside."""
    wide = x.to(accumulation_type(x.dtype))
    centred = wide - wide.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return (centred / torch.sqrt(variance + eps)).to(x.dtype)


def rms_norm(x: Float[Tensor, "*B d"], eps: float = 1e-6) -> Float[Tensor, "*B d"]:
    """Each row to a root mean square of 1 (Zhang & Sennrich 2019), written out."""
    wide = x.to(accumulation_type(x.dtype))
    return (wide / torch.sqrt(wide.square().mean(dim=-1, keepdim=True) + eps)).to(x.dtype)


def batch_statistics(
    x: Float[Tensor, "B L d"], real: Bool[Tensor, "B L"] | None
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Mean and variance of each feature over the batch's real tokens."""
    wide = x.to(accumulation_type(x.dtype))
    weight = torch.ones_like(wide[..., :1]) if real is None else real[..., None].to(wide.dtype)
    count = weight.sum().clamp(min=1)
    mean = (wide * weight).sum(dim=(0, 1)) / count
    variance = ((wide - mean).square() * weight).sum(dim=(0, 1)) / count
    return mean, variance


class LayerNorm(nn.Module):
    """`layer_norm` with a learned scale γ and shift β, by PyTorch's kernel."""

    def __init__(self, d_model: int, eps: float = 1e-5, bias: bool = True) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if bias else None

    def forward(self, x: Float[Tensor, "B L d"], real: Bool[Tensor, "B L"] | None = None) -> Float[Tensor, "B L d"]:
        return tap(self, "", F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps))


class RMSNorm(nn.Module):
    """`rms_norm` with a learned scale γ, by PyTorch's kernel."""

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "B L d"], real: Bool[Tensor, "B L"] | None = None) -> Float[Tensor, "B L d"]:
        return tap(self, "", F.rms_norm(x, self.weight.shape, self.weight, self.eps))


class BatchNorm(nn.Module):
    """Batch norm over the real tokens (Ioffe & Szegedy 2015); running statistics stand in after training."""

    running_mean: Tensor
    running_variance: Tensor

    def __init__(self, d_model: int, eps: float = 1e-5, momentum: float = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("running_mean", torch.zeros(d_model))
        self.register_buffer("running_variance", torch.ones(d_model))

    def forward(self, x: Float[Tensor, "B L d"], real: Bool[Tensor, "B L"] | None = None) -> Float[Tensor, "B L d"]:
        mean, variance = self.running_mean, self.running_variance
        if self.training:
            mean, variance = batch_statistics(x, real)
            with torch.no_grad():
                self.running_mean.lerp_(mean.to(self.running_mean.dtype), self.momentum)
                self.running_variance.lerp_(variance.to(self.running_variance.dtype), self.momentum)
        normal = (x.to(mean.dtype) - mean) / torch.sqrt(variance + self.eps)
        return tap(self, "", (normal * self.weight + self.bias).to(x.dtype))
