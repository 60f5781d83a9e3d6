"""The Vision Transformer, described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from prosector.config.layer import Activation, LayerConfig
from prosector.config.position import PositionConfig

if TYPE_CHECKING:
    from prosector.models.vit import ViT
    from prosector.positions import Position

Size = tuple[Annotated[int, Field(gt=0)], Annotated[int, Field(gt=0)]]


class ViTConfig(LayerConfig):
    """Patches of a picture, and one stack of layers that look at all of them."""

    kind: Literal["vit"] = Field("vit", description="the architecture")
    picture: Size = Field((28, 28), description="height and width of the pictures it is trained on")
    d_input: int = Field(1, gt=0, description="channels of a picture: 1 grey, 3 colours")
    patch: Size = Field((4, 4), description="height and width of a patch; they divide the picture's")
    layers: int = Field(4, gt=0, description="layers of the stack")
    pooling: Literal["class-token", "mean"] = Field(
        "class-token", description="what is classed: a token of its own, or the mean of all"
    )
    n_classes: int = Field(10, gt=1, description="classes of pictures")
    activation: Activation = Field("gelu", description="what is inside it")
    position: Literal["grid"] | PositionConfig = Field(  # type: ignore[assignment]
        "grid", description="grid: a learned vector for each place, interpolated for other sizes; or a text's encoding"
    )

    @model_validator(mode="after")
    def _patches_divide(self) -> Self:
        self.grid(*self.picture)
        return self

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """How many patches a picture of this size has, down and across.

        Raises:
            ValueError: the patch does not divide it.
        """
        down, across = self.patch
        if height % down or width % across:
            raise ValueError(
                f"patches of {down} x {across} do not divide a picture of {height} x {width}; "
                "choose another patch, or pad or resize the picture"
            )
        return height // down, width // across

    def build_position(self, bidirectional: bool) -> Position:
        """The position encoding of the stack."""
        from prosector.positions import GridPosition

        if self.position == "grid":
            return GridPosition(self.d_model, *self.grid(*self.picture))
        return super().build_position(bidirectional)

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"A Vision Transformer of {self.layers} layers, d_model {self.d_model}, {self.n_heads} heads, "
            f"patches of {self.patch[0]} x {self.patch[1]}"
        )

    def build(self) -> ViT:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.vit import ViT

        return ViT(self)
