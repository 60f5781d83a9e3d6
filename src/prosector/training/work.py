"""One family of models from its data to its folder: what `run.train` needs to know of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import nn

from prosector.config.folder import Folder
from prosector.models.weights import load_weights, weights_of
from prosector.text import Tokenizer
from prosector.training.readme import About
from prosector.training.task import Task


class Start(NamedTuple):
    """What a run begins with; the config has the vocabularies' real sizes."""

    config: Any
    model: nn.Module
    tokenizers: tuple[Tokenizer, ...] = ()
    began_as: str = ""  # the model that is trained further
    command: str = ""  # with which it was called


class Work(ABC):
    """One run's data and model, by its config."""

    reads: ClassVar[str]  # what its data are

    def __init__(self, config: Any) -> None:
        self.config = config

    @abstractmethod
    def read(self) -> None:
        """Read the data.

        Raises:
            ValueError: there are too few, or a file is broken.
        """

    @abstractmethod
    def content(self) -> Iterator[bytes]:
        """All that is learned and chosen from, in order: what a resumed run must find again."""

    @abstractmethod
    def afresh(self) -> Start:
        """New tokenizers, learned from the training data alone, and new weights."""

    @abstractmethod
    def further(self, folder: Path) -> Start:
        """The tokenizers, architecture and weights of a model, to be trained further; only dropout is the config's.

        Raises:
            ValueError: it is a model for something else.
        """

    @abstractmethod
    def again(self, folder: Path) -> Start:
        """What an earlier run of this config began with, from its folder."""

    @abstractmethod
    def task(self, start: Start, device: torch.device) -> Task:
        """What the loop learns."""

    @abstractmethod
    def described(self, config: Any, model: nn.Module) -> Folder:
        """What the model's `config.json` says; something of it may have to be found with the model."""

    @abstractmethod
    def about(self, config: Any) -> About:
        """What the model's README says of it."""

    @abstractmethod
    def counted(self, task: Any) -> str:
        """How much there is to learn from and to choose by, in words."""


def trained_copy(config: Any, given: nn.Module, where: Path) -> nn.Module:
    """A model of this config with another's weights, ready to be trained further."""
    model: nn.Module = config.build()
    load_weights(model, weights_of(given), str(where))
    return model
