"""Learning what a picture is of: pictures and classes, cross-entropy, and the share that is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.config.folder import Folder, PictureFolder
from prosector.config.pictures import PictureRunConfig
from prosector.config.vit import ViTConfig
from prosector.data.pictures import TABLES, PictureBatch, PictureBatches, PictureSplit, origin_of, read_pictures, split
from prosector.decoding.folder import read_picture_model
from prosector.evaluation.classes import classed
from prosector.training.precision import matrix_products
from prosector.training.readme import About
from prosector.training.report import Sample
from prosector.training.task import Task, Validation
from prosector.training.work import Start, Work, trained_copy


class ClassifyingTask(Task):
    """Batches of pictures, and their classes."""

    unit = "pictures"

    def __init__(self, config: PictureRunConfig, parts: PictureSplit, mean: float, deviation: float) -> None:
        self.config, self.dev, self.mean, self.deviation = config, parts.dev, mean, deviation
        self.batches = PictureBatches(parts.train, config.data, config.training.seed)

    def epoch(self, number: int) -> list[list[int]]:
        return self.batches.epoch(number)

    def batch(self, examples: Sequence[int], epoch: int) -> PictureBatch:
        return self.batches.batch(examples, epoch)

    def logits(self, model: nn.Module, pictures: Tensor) -> Tensor:
        """The model's scores of pictures whose values are 0 to 1."""
        return model((pictures.to(next(model.parameters()).device) - self.mean) / self.deviation)

    def loss(self, model: nn.Module, batch: PictureBatch, size: int) -> Tensor:
        smoothing = self.config.training.label_smoothing
        logits = self.logits(model, batch.pictures).float()
        return F.cross_entropy(logits, batch.labels, label_smoothing=smoothing, reduction="sum") / size

    def validate(self, model: nn.Module, limit: int | None = None) -> Validation:
        device = next(model.parameters()).device
        with matrix_products(self.config.training.precision, device):
            found = classed(lambda part: self.logits(model, part), self.dev.values, self.dev.labels)
        wrong = (found.predicted != self.dev.labels).nonzero().flatten().tolist()[:3]
        samples = [self.mistake(self.dev.labels[i].item(), found.predicted[i].item()) for i in wrong]
        notes = ("Accuracy in per cent of the development pictures",)
        return Validation(found.loss, {"accuracy": 100 * found.accuracy}, samples, notes, found.accuracy)

    def mistake(self, label: float, predicted: float) -> Sample:
        """A picture that was taken for another."""
        right, wrong = (self.dev.classes[int(i)] for i in (label, predicted))
        return Sample(f"a {right}", right, f"taken for a {wrong}")


class Classifying(Work):
    """A run on pictures."""

    reads = "pictures"
    config: PictureRunConfig
    parts: PictureSplit

    def read(self) -> None:
        pictures = read_pictures(self.config.data.source)
        self.parts = split(pictures, self.config.data)
        values = self.parts.train.values
        self.mean, self.deviation = values.mean().item(), max(values.std().item(), 1e-3)

    def content(self) -> Iterator[bytes]:
        for part in self.parts:
            yield part.values.numpy().tobytes()
            yield part.labels.numpy().tobytes()

    def afresh(self) -> Start:
        train = self.parts.train
        channels, height, width = train.values.shape[1:]
        sizes: dict[str, object] = {"n_classes": len(train.classes), "d_input": channels}
        if isinstance(self.config.model, ViTConfig):
            sizes["picture"] = (height, width)
        model = type(self.config.model).model_validate(self.config.model.model_dump() | sizes)
        return Start(self.config.model_copy(update={"model": model}), model.build())

    def further(self, folder: Path) -> Start:
        found, given = read_picture_model(folder)
        if found.classes != self.parts.train.classes:
            raise ValueError(f"{folder} knows the classes {', '.join(found.classes)}, not those of these pictures")
        if tuple(found.size) != tuple(self.parts.train.values.shape[2:]):
            raise ValueError(f"{folder} was trained on pictures of {found.size[0]} x {found.size[1]}, not of this size")
        dropout = {"dropout": self.config.model.dropout}
        model = type(found.model).model_validate(found.model.model_dump() | dropout)
        fresh = trained_copy(model, given, folder)
        return Start(self.config.model_copy(update={"model": model}), fresh, began_as=folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build())

    def task(self, start: Start, device: torch.device) -> ClassifyingTask:
        return ClassifyingTask(start.config, self.parts, self.mean, self.deviation)

    def described(self, config: PictureRunConfig, model: nn.Module) -> Folder:
        train = self.parts.train
        return PictureFolder(
            kind=config.model.kind,
            classes=train.classes,
            size=(train.values.shape[2], train.values.shape[3]),
            source=config.data.source if config.data.source in TABLES else "",
            test=config.data.test,
            mean=self.mean,
            deviation=self.deviation,
            model=config.model,
        )

    def about(self, config: PictureRunConfig) -> About:
        title = f"What is it? {len(self.parts.train.classes)} classes of pictures"
        return About(title, config.model.summary(), f"{origin_of(config.data.source)}; {self.counted()}.")

    def counted(self, task: object = None) -> str:
        train, dev, test = map(len, self.parts)
        return f"{train:,} pictures to train on, {dev:,} to choose on, {test:,} that it never sees"
