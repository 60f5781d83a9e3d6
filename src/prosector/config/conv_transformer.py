"""The ConvTransformer (CvT), described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from prosector.config.base import Config

if TYPE_CHECKING:
    from prosector.models.conv_transformer import ConvTransformer


class StageConfig(Config):
    """One stage: a finer or coarser grid of tokens, and layers on it."""

    d_model: int = Field(64, gt=0, description="features of a token")
    n_heads: int = Field(1, gt=0, description="attention heads of a layer")
    layers: int = Field(1, gt=0, description="layers of this stage")
    kernel: int = Field(3, gt=0, description="height and width of what one token is made from")
    stride: int = Field(2, gt=0, description="from one token to the next; the grid is so many times coarser")
    key_stride: int = Field(2, gt=0, description="how much coarser the grid of keys and values is")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.d_model % self.n_heads:
            raise ValueError(f"d_model={self.d_model} does not divide into n_heads={self.n_heads}; change one")
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel={self.kernel} is even, so that it has no middle; choose an odd one")
        return self


class ConvTransformerConfig(Config):
    """Stages of ever coarser tokens; the last one has a class token (Wu et al. 2021)."""

    kind: Literal["conv-transformer"] = Field("conv-transformer", description="the architecture")
    d_input: int = Field(1, gt=0, description="channels of a picture: 1 grey, 3 colours")
    stages: tuple[StageConfig, ...] = Field(
        (StageConfig(d_model=32, n_heads=1, layers=1), StageConfig(d_model=96, n_heads=3, layers=3)),
        min_length=1,
        description="first to last",
    )
    d_ff: int = Field(4, gt=0, description="features inside a feed-forward network, in d_model of its stage")
    dropout: float = Field(0.1, ge=0, lt=1, description="share of values dropped after embeddings and sublayers")
    kernel: Literal["sdpa", "written-out", "blockwise", "flex"] = Field("sdpa", description="how attention is computed")
    n_classes: int = Field(10, gt=1, description="classes of pictures")

    def summary(self) -> str:
        """What it is, for people."""
        stages = " and ".join(
            f"{stage.layers} layer{'s' * (stage.layers > 1)} of d_model {stage.d_model}" for stage in self.stages
        )
        return f"A ConvTransformer of {len(self.stages)} stages: {stages}"

    def build(self) -> ConvTransformer:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.conv_transformer import ConvTransformer

        return ConvTransformer(self)
