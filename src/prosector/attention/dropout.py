"""Dropout with random numbers at an eighth of the price.

A Bernoulli number a value costs more than the matrix products around it on a CPU. Here one
64-bit random number decides about eight values: each byte is compared with ⌊256 p + ½⌋, so p
is a multiple of 1/256 (0.1 becomes 26/256 = 0.1016, and 255/256 is the most), and what is kept is
scaled by exactly 1 / (1 - p), so the mean is right. The numbers come from PyTorch's generator of the
device: `torch.manual_seed` makes them repeat.
"""

from typing import Any

import torch
from torch import Tensor, nn


def share_of_256(p: float) -> int:
    """How many of a byte's 256 values drop a value: ⌊256 p + ½⌋, but never all of them."""
    return min(int(256 * p + 0.5), 255)


def keep_mask(x: Tensor, p: float) -> Tensor:
    """Which values of x stay, 1, and which go, 0: a byte each, shaped like x.

    One stays with probability 1 - ⌊256 p + ½⌋ / 256, not below 1/256. In bytes, because PyTorch's comparisons and
    products with bools take many times as long on a CPU.
    """
    words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device).random_(-(2**63), None)
    return words.view(torch.uint8)[: x.numel()].ge_(share_of_256(p)).view(x.shape)


def scaled_where(keep: Tensor, x: Tensor, scale: float) -> Tensor:
    """0 + scale · x · keep, in one pass."""
    return torch.addcmul(x.new_zeros(()), x, keep.to(x.dtype), value=scale)


class _Drop(torch.autograd.Function):
    """x · keep / (1 - p), keeping one byte a value for the way back."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return scaled_where(keep, x, scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return scaled_where(keep, gradients[0], ctx.scale), None, None


class _DropOnto(torch.autograd.Function):
    """x + y · keep / (1 - p), in one pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale, ctx.y_type = scale, y.dtype
        return torch.addcmul(x, y, keep, value=scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (keep,) = ctx.saved_tensors
        return gradients[0], scaled_where(keep, gradients[0].to(ctx.y_type), ctx.scale), None, None


class Dropout(nn.Module):
    """Set a share p of the values to zero in training and scale the rest by 1 / (1 - p) (Srivastava et al. 2014).

    Raises:
        ValueError: p is not in [0, 1).
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not 0 <= p < 1:
            raise ValueError(f"dropout p={p} is not in [0, 1)")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        dropped = share_of_256(self.p)
        if not self.training or dropped == 0:
            return x
        scale = 256 / (256 - dropped)
        if torch.compiler.is_compiling():  # a compiler fuses the plain words, and cannot follow the others
            return x * (torch.randint(256, x.shape, dtype=torch.uint8, device=x.device) >= dropped) * scale
        return _Drop.apply(x, keep_mask(x, self.p), scale)

    def onto(self, x: Tensor, y: Tensor) -> Tensor:
        """x + dropout(y): what a residual path adds to it."""
        dropped = share_of_256(self.p)
        if not self.training or dropped == 0 or torch.compiler.is_compiling() or x.shape != y.shape:
            return x + self(y)
        return _DropOnto.apply(x, y, keep_mask(y, self.p), 256 / (256 - dropped))

    def extra_repr(self) -> str:
        return f"p={self.p}"
