"""A run that teaches a model to write, described."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from prosector.config.base import Config
from prosector.config.gpt import GptConfig
from prosector.config.model import n_positions
from prosector.config.text import TokenizerConfig
from prosector.config.texts import TextsConfig
from prosector.config.training import TrainingConfig


class WritingConfig(Config):
    """The model, its tokenizer, its texts, and how it is trained."""

    description: str = Field("", description="one line that says what this is for")
    model: GptConfig = Field(GptConfig(), description="the architecture")
    tokenizer: TokenizerConfig = Field(TokenizerConfig(), description="how text becomes ids")
    data: TextsConfig = Field(TextsConfig(), description="the texts")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        if n_positions(self.model) < self.data.context:
            raise ValueError(
                f"the model has {n_positions(self.model)} positions, and data.context={self.data.context}; "
                "lower it, or choose a position encoding that goes as far"
            )
        return self
