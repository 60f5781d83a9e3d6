"""Two convolutions, each normed and rectified: what a level of a U-Net does with a picture.

Shapes: B batch, C channels, H and W height and width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from prosector.tap import tap

PictureNorm = Literal["batch", "group", "none"]

NORMS: dict[PictureNorm, Callable[[int], nn.Module]] = {
    "batch": nn.BatchNorm2d,
    "group": lambda channels: nn.GroupNorm(max(n for n in range(1, 9) if channels % n == 0), channels),
    "none": lambda channels: nn.Identity(),
}


class DoubleConvolution(nn.Module):
    """ReLU(norm(conv₃ₓ₃(·))), twice; height and width stay."""

    def __init__(self, d_in: int, d_out: int, norm: PictureNorm) -> None:
        super().__init__()
        self.first = nn.Conv2d(d_in, d_out, kernel_size=3, padding=1, bias=norm == "none")
        self.norm1 = NORMS[norm](d_out)
        self.second = nn.Conv2d(d_out, d_out, kernel_size=3, padding=1, bias=norm == "none")
        self.norm2 = NORMS[norm](d_out)
        for convolution in (self.first, self.second):  # keeps the variance through a ReLU (He et al. 2015)
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")

    def forward(self, x: Float[Tensor, "B d_in H W"]) -> Float[Tensor, "B d_out H W"]:
        x = tap(self, "hidden", self.norm1(self.first(x)).relu())
        return tap(self, "", self.norm2(self.second(x)).relu())
