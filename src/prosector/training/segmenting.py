"""Learning what is where: crops of pictures with the class of every place, cross-entropy, and Dice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.config.folder import Folder, SegmentingFolder
from prosector.config.segmenting import SegmentingRunConfig
from prosector.data.masks import Crops, MaskBatch, MaskSplit, Piece, read_masks
from prosector.decoding.folder import read_segmenter
from prosector.evaluation.overlap import best_threshold, of_classes
from prosector.training.precision import matrix_products
from prosector.training.readme import About
from prosector.training.task import Task, Validation
from prosector.training.work import Start, Work, trained_copy


class SegmentingTask(Task):
    """Batches of crops, and the class of every place."""

    unit = "crops"

    def __init__(self, config: SegmentingRunConfig, parts: MaskSplit, mean: float, deviation: float) -> None:
        self.config, self.parts, self.mean, self.deviation = config, parts, mean, deviation
        self.crops = Crops(parts.train, config.data, config.training.seed)

    def epoch(self, number: int) -> list[list[int]]:
        return self.crops.epoch(number)

    def batch(self, examples: Sequence[int], epoch: int) -> MaskBatch:
        return self.crops.batch(examples, epoch)

    def logits(self, model: nn.Module, pictures: Tensor) -> Tensor:
        """The model's scores of pictures whose values are 0 to 1."""
        return model((pictures.to(next(model.parameters()).device) - self.mean) / self.deviation).float()

    def loss(self, model: nn.Module, batch: MaskBatch, size: int) -> Tensor:
        smoothing = self.config.training.label_smoothing
        places = F.cross_entropy(self.logits(model, batch.pictures), batch.classes, label_smoothing=smoothing)
        return places * batch.size / size

    @torch.inference_mode()
    def chances(self, model: nn.Module, pieces: Sequence[Piece]) -> list[Tensor]:
        """The probability of each class at every place of each piece."""
        with matrix_products(self.config.training.precision, next(model.parameters()).device):
            return [self.logits(model, piece.picture[None]).softmax(dim=1)[0].cpu() for piece in pieces]

    def validate(self, model: nn.Module, limit: int | None = None) -> Validation:
        """Dice and IoU of the development pieces, of two classes at the threshold that is best there."""
        found = self.chances(model, self.parts.dev)
        wanted = [piece.classes for piece in self.parts.dev]
        right = [chance.gather(0, mask[None]) for chance, mask in zip(found, wanted, strict=True)]
        nats = [-chance.clamp(min=1e-12).log().mean() for chance in right]
        threshold = self.threshold(found)
        predicted = [predicted_classes(chance, threshold) for chance in found]
        overlaps = of_classes(predicted, wanted, len(self.parts.names))
        scores: dict[str, float] = {}
        for name, overlap in zip(self.parts.names[1:], overlaps, strict=True):
            scores |= {f"Dice {name}": 100 * overlap.dice, f"IoU {name}": 100 * overlap.iou}
        mean = sum(overlap.dice for overlap in overlaps) / len(overlaps)
        notes = ("Dice and IoU in per cent, over all places of the development pieces",)
        return Validation(torch.stack(nats).mean().item(), scores, [], notes, mean)

    def threshold(self, chances: Sequence[Tensor]) -> float:
        """Of two classes, the probability from which on the second counts: what is best on the development pieces."""
        if len(self.parts.names) > 2:
            return 0.5
        wanted = torch.cat([piece.classes.flatten() == 1 for piece in self.parts.dev])
        return best_threshold(torch.cat([chance[1].flatten() for chance in chances]), wanted)


def predicted_classes(chances: Tensor, threshold: float) -> Tensor:
    """The likeliest class of every place; of two, the second from the threshold on."""
    return (chances[1] >= threshold).long() if len(chances) == 2 else chances.argmax(dim=0)


class Segmenting(Work):
    """A run on pictures with masks."""

    reads = "pictures and their masks"
    config: SegmentingRunConfig
    parts: MaskSplit

    def read(self) -> None:
        self.parts = read_masks(self.config.data.source)
        values = torch.cat([piece.picture.flatten() for piece in self.parts.train])
        self.mean, self.deviation = values.mean().item(), max(values.std().item(), 1e-3)

    def content(self) -> Iterator[bytes]:
        for part in (self.parts.train, self.parts.dev, self.parts.test):
            for piece in part:
                yield piece.place.encode() + piece.picture.numpy().tobytes() + piece.classes.numpy().tobytes()

    def afresh(self) -> Start:
        sizes = {"d_input": len(self.parts.train[0].picture), "n_classes": len(self.parts.names)}
        model = type(self.config.model).model_validate(self.config.model.model_dump() | sizes)
        return Start(self.config.model_copy(update={"model": model}), model.build())

    def further(self, folder: Path) -> Start:
        found, given = read_segmenter(folder)
        if found.classes != self.parts.names or found.model.d_input != len(self.parts.train[0].picture):
            raise ValueError(f"{folder} knows the classes {', '.join(found.classes)}, not those of these pictures")
        model = trained_copy(found.model, given, folder)
        return Start(self.config.model_copy(update={"model": found.model}), model, began_as=folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build())

    def task(self, start: Start, device: torch.device) -> SegmentingTask:
        return SegmentingTask(start.config, self.parts, self.mean, self.deviation)

    def described(self, config: SegmentingRunConfig, model: nn.Module) -> Folder:
        task = SegmentingTask(config, self.parts, self.mean, self.deviation)
        return SegmentingFolder(
            kind=config.model.kind,
            classes=self.parts.names,
            source=config.data.source if config.data.source in ("nuclei", "brain") else "",
            mean=self.mean,
            deviation=self.deviation,
            threshold=task.threshold(task.chances(model.eval(), self.parts.dev)),
            model=config.model,
        )

    def about(self, config: SegmentingRunConfig) -> About:
        places = [
            f"- {name}: {'; '.join(piece.place for piece in part)}"
            for name, part in zip(("to train on", "to choose on", "never seen"), self.parts[:3], strict=True)
        ]
        data = f"{self.parts.origin}.\n\n" + "\n".join(places)
        return About(f"What is where? {', '.join(self.parts.names)}", config.model.summary(), data)

    def counted(self, task: object = None) -> str:
        train, dev, test = map(len, self.parts[:3])
        return f"{train} pieces to train on, {dev} to choose on, {test} that it never sees"
