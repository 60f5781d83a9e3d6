"""From a picture to a class at every place: down to see what is there, up again to say where.

    down    x_i = convolutions(x_{i-1}),  x_i halved            at each level, twice the channels
    up      u_i = convolutions([skip(x_i, u_{i+1}) ; up(u_{i+1})])
    logits  = W u_0                                             a score for each class at every place

What is fine is lost on the way down; the skip connections bring it back (Ronneberger, Fischer, Brox 2015). An
Attention U-Net puts a gate on each of them, which the coarser level steers (Oktay et al. 2018): `gate0` is that at
full resolution. Any height and width will do: inside, a picture is filled up to a multiple of 2^depth.

Shapes: B batch, H and W height and width, C classes.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import Dropout
from prosector.blocks import DoubleConvolution
from prosector.config.unet import UNetConfig
from prosector.tap import tap


class Passing(nn.Module):
    """A skip connection without a gate: all of x passes."""

    def forward(self, x: Tensor, g: Tensor) -> Tensor:
        return x


class UNet(nn.Module):
    """A class at every place of a picture.

    Args:
        skip: makes what stands on a skip connection, from its channels and those of the level below.
    """

    def __init__(self, config: UNetConfig, skip: Callable[[int, int], nn.Module]) -> None:
        super().__init__()
        self.config = config
        widths = [config.channels * 2**level for level in range(config.depth + 1)]
        self.levels = range(config.depth)
        for level, width in enumerate(widths):
            d_in = widths[level - 1] if level else config.d_input
            self.add_module(f"down{level}", DoubleConvolution(d_in, width, config.norm))
        for level in self.levels:
            width, below = widths[level], widths[level + 1]
            self.add_module(f"gate{level}", skip(width, below))
            self.add_module(f"raise{level}", nn.ConvTranspose2d(below, width, kernel_size=2, stride=2))
            self.add_module(f"up{level}", DoubleConvolution(2 * width, width, config.norm))
        self.dropout = Dropout(config.dropout)
        self.output = nn.Conv2d(config.channels, config.n_classes, kernel_size=1)
        nn.init.normal_(self.output.weight, std=0.5 / config.channels**0.5)  # the first loss is close to ln(classes)

    def hidden(self, pictures: Float[Tensor, "B d H W"]) -> Float[Tensor, "B c H W"]:
        """Features at every place."""
        height, width = pictures.shape[-2:]
        x = tap(self, "pictures", fill_up(pictures, 2**self.config.depth))
        kept = []
        for level in self.levels:
            x = self.get_submodule(f"down{level}")(x)
            kept.append(x)
            x = F.max_pool2d(x, 2)
        x = self.dropout(self.get_submodule(f"down{self.config.depth}")(x))
        for level in reversed(self.levels):
            skip = self.get_submodule(f"gate{level}")(kept[level], x)
            raised = tap(self, f"raise{level}", self.get_submodule(f"raise{level}")(x))
            x = self.get_submodule(f"up{level}")(torch.cat([skip, raised], dim=1))
        return tap(self, "hidden", x[..., :height, :width])

    def forward(self, pictures: Float[Tensor, "B d H W"]) -> Float[Tensor, "B C H W"]:
        """A score for each class at every place."""
        return tap(self, "logits", self.output(self.hidden(pictures)))


def fill_up(pictures: Float[Tensor, "B d H W"], multiple: int) -> Float[Tensor, "B d H2 W2"]:
    """Repeat the right and the lower edge until both sides are a multiple."""
    height, width = pictures.shape[-2:]
    return F.pad(pictures, (0, -width % multiple, 0, -height % multiple), mode="replicate")
