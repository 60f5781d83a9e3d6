"""U-Net and Attention U-Net, described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from prosector.config.base import Config

if TYPE_CHECKING:
    from prosector.models.unet import UNet


class UNetConfig(Config):
    """From a picture to a class at every place, with skip connections (Ronneberger et al. 2015)."""

    kind: Literal["unet"] = Field("unet", description="the architecture")
    d_input: int = Field(1, gt=0, description="channels of a picture: 1 grey, 3 colours")
    n_classes: int = Field(2, gt=1, description="classes that a place can be of")
    channels: int = Field(16, gt=0, description="channels at full resolution; twice as many at each level below")
    depth: int = Field(3, gt=0, description="how often the resolution is halved")
    norm: Literal["batch", "group", "none"] = Field("batch", description="the norm after each convolution")
    dropout: float = Field(0.0, ge=0, lt=1, description="share of values dropped at the lowest level")

    def summary(self) -> str:
        """What it is, for people."""
        return f"A U-Net of {self.depth} levels below the first, which has {self.channels} channels"

    def build(self) -> UNet:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.unet import Passing, UNet

        return UNet(self, lambda d_skip, d_below: Passing())


class AttentionUNetConfig(UNetConfig):
    """The same with a gate on every skip connection (Oktay et al. 2018)."""

    kind: Literal["attention-unet"] = Field("attention-unet", description="the architecture")  # type: ignore[assignment]

    def summary(self) -> str:
        """What it is, for people."""
        return f"An Attention U-Net of {self.depth} levels below the first, which has {self.channels} channels"

    def build(self) -> UNet:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.attention import AttentionGate
        from prosector.models.unet import UNet

        return UNet(self, AttentionGate)
