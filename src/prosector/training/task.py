"""What a run learns, whatever it is: batches, a loss, and a measure. The loop knows nothing else of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from prosector.training.report import Sample


class Batch(Protocol):
    """What one step sees."""

    @property
    def size(self) -> int:
        """How much it counts: its target tokens, or its pictures."""
        ...

    def to(self, device: torch.device) -> Any:
        """The same on a device."""
        ...


class Validation(NamedTuple):
    """How a model does on what it is chosen by.

    Attributes:
        loss: in nats, unsmoothed.
        scores: by the names that people know them by.
        samples: a few examples, for people to see.
        notes: how the scores were computed, such as sacrebleu's signatures.
        figure: what chooses; the higher the better.
    """

    loss: float
    scores: dict[str, float]
    samples: list[Sample]
    notes: tuple[str, ...]
    figure: float

    def text(self) -> str:
        """The figures in one line."""
        return "  ".join([f"loss {self.loss:.3f}", *(f"{name} {value:.4g}" for name, value in self.scores.items())])


class Task(ABC):
    """One kind of learning, on its own data."""

    unit: ClassVar[str]  # what a batch's size counts

    @abstractmethod
    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of examples; a function of the seed and the number."""

    @abstractmethod
    def batch(self, examples: Sequence[int], epoch: int) -> Batch:
        """Examples as tensors."""

    @abstractmethod
    def loss(self, model: Any, batch: Any, size: int) -> Tensor:
        """The batch's loss, a sum divided by `size`, so that batches whose gradients are added share one number."""

    @abstractmethod
    def validate(self, model: Any, limit: int | None = None) -> Validation:
        """Measure a model that is in evaluation, on the first so many examples where that takes long."""
