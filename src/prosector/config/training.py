"""How to train, described: steps, learning rate, precision, validation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from prosector.config.base import Config


class TrainingConfig(Config):
    """One run of the training loop."""

    steps: int = Field(10_000, gt=0, description="updates of the weights")
    seed: int = Field(1, ge=0, description="of the weights, the order of the data, and dropout")
    learning_rate: float = Field(1e-3, gt=0, description="the highest learning rate")
    schedule: Literal["inverse-sqrt", "noam", "linear"] = Field(
        "linear",
        description="after the warm-up: ∝ 1/√step; the formula of 2017, which takes learning_rate as its factor; "
        "or straight down to 0 at the last step",
    )
    warmup: int = Field(1000, ge=0, description="steps over which the learning rate grows to its highest")
    label_smoothing: float = Field(0.1, ge=0, lt=1, description="share of the target's probability for all words alike")
    weight_decay: float = Field(0.01, ge=0, description="decoupled, on matrices only")
    betas: tuple[float, float] = Field((0.9, 0.98), description="AdamW's decay rates")
    clip: float = Field(1.0, gt=0, description="gradients of a larger norm are scaled down to it")
    accumulate: int = Field(1, gt=0, description="batches whose gradients make one update")
    precision: Literal["auto", "float32", "bf16"] = Field(
        "auto", description="of matrix products; auto is bf16 where the machine multiplies it faster, else float32"
    )
    average: int = Field(5, gt=0, description="the last so many checkpoints whose mean becomes the model")
    save_every: int = Field(500, gt=0, description="steps between checkpoints")
    validate_every: int = Field(1000, gt=0, description="steps between validations; a multiple of save_every")
    validate_pairs: int = Field(500, gt=0, description="development pairs that are translated in a validation")
    patience: int | None = Field(None, gt=0, description="stop after so many validations without a better chrF")
    save_as: Literal["float32", "float16"] = Field(
        "float32", description="the weights' type on disk; float16 halves the file and is as good"
    )
    threads: int | None = Field(None, gt=0, description="CPU threads; PyTorch's choice if not given")

    @model_validator(mode="after")
    def _whole_intervals(self) -> TrainingConfig:
        if self.validate_every % self.save_every:
            raise ValueError(
                f"validate_every={self.validate_every} is not a multiple of save_every={self.save_every}; "
                "a validated model must also be a saved one"
            )
        if self.schedule == "linear" and self.warmup >= self.steps:
            raise ValueError(f"warmup={self.warmup} leaves nothing of steps={self.steps}; make it smaller")
        return self
