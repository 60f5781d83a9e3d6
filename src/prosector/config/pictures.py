"""A run on pictures, described: which class is a picture of?"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from prosector.config.base import Config, kind_or
from prosector.config.conv_transformer import ConvTransformerConfig
from prosector.config.training import TrainingConfig
from prosector.config.vit import ViTConfig

PictureModelConfig = Annotated[
    Annotated[ViTConfig, Tag("vit")] | Annotated[ConvTransformerConfig, Tag("conv-transformer")],
    Discriminator(
        kind_or("vit"),
        custom_error_type="picture_kind",
        custom_error_message="unknown kind of picture model; allowed are vit, conv-transformer",
    ),
]


class PicturesConfig(Config):
    """The pictures, and how they are cut into batches."""

    source: str = Field(
        "mnist-5k", description="mnist-5k, digits (8 x 8), or a folder that holds a folder of pictures for each class"
    )
    train: int | None = Field(None, gt=0, description="how many to train on; all that are left if not given")
    dev: int = Field(400, gt=0, description="how many to choose on")
    test: int = Field(1000, ge=0, description="how many are never seen, for `prosector evaluate`")
    batch: int = Field(64, gt=0, description="pictures of a batch")
    shift: int = Field(0, ge=0, description="moves each picture by up to so many places, another way in each epoch")
    turn: float = Field(0.0, ge=0, le=180, description="turns each picture by up to so many degrees, likewise")
    stretch: float = Field(0.0, ge=0, lt=1, description="stretches height and width by up to such a share, likewise")


class PictureRunConfig(Config):
    """The model, its pictures, and how it is trained."""

    description: str = Field("", description="one line that says what this is for")
    model: PictureModelConfig = Field(ViTConfig(), description="the architecture")
    data: PicturesConfig = Field(PicturesConfig(), description="the pictures")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")
