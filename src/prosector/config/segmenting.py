"""A run that classes every place of a picture, described."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag

from prosector.config.base import Config, kind_or
from prosector.config.training import TrainingConfig
from prosector.config.unet import AttentionUNetConfig, UNetConfig

SegmentingModelConfig = Annotated[
    Annotated[UNetConfig, Tag("unet")] | Annotated[AttentionUNetConfig, Tag("attention-unet")],
    Discriminator(
        kind_or("unet"),
        custom_error_type="segmenting_kind",
        custom_error_message="unknown kind of segmenting model; allowed are unet, attention-unet",
    ),
]


class SegmentingDataConfig(Config):
    """The pictures with their masks, and how they are cut into batches."""

    source: str = Field(
        "nuclei", description="nuclei, brain, or a folder that holds pictures/ and masks/ with files of the same names"
    )
    crop: int = Field(64, gt=3, description="height and width of what is cut out of a picture, anew in each epoch")
    batch: int = Field(16, gt=0, description="crops of a batch")
    epoch: int = Field(20, gt=0, description="batches that make an epoch")


class SegmentingRunConfig(Config):
    """The model, its pictures, and how it is trained."""

    description: str = Field("", description="one line that says what this is for")
    model: SegmentingModelConfig = Field(UNetConfig(), description="the architecture")
    data: SegmentingDataConfig = Field(SegmentingDataConfig(), description="the pictures with their masks")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")
