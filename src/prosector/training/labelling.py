"""Learning which kind a text is of, from few examples: with --from a model that has learned to read, or without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from prosector.config.folder import Folder, ReaderFolder
from prosector.config.reading import LabelledDataConfig, LabellingConfig
from prosector.data.batching import pad
from prosector.data.texts import read_lines
from prosector.decoding.folder import read_reader
from prosector.evaluation.classes import classed
from prosector.models.bert import Bert
from prosector.models.weights import weights_of
from prosector.text import Tokenizer, load_tokenizers, train_tokenizers
from prosector.text.special import EOS, SOS
from prosector.training.precision import matrix_products
from prosector.training.readme import About, table_of
from prosector.training.report import Sample
from prosector.training.task import Task, Validation
from prosector.training.work import Start, Work


class Labelled(NamedTuple):
    """Texts, and the number of each one's label."""

    texts: list[str]
    labels: list[int]


class LabelledSplit(NamedTuple):
    """What to learn from, to choose by, and to be judged by: as many of each label."""

    train: Labelled
    dev: Labelled
    test: Labelled


def read_labelled(config: LabelledDataConfig) -> LabelledSplit:
    """Lines of each label, drawn once and for all; no line twice.

    Raises:
        ValueError: a text has too few lines.
    """
    if len(config.labels) < 2:
        raise ValueError("name two labels or more with their texts: --data LABEL=FILE, or data.labels in the recipe")
    parts = LabelledSplit(*(Labelled([], []) for _ in range(3)))
    for label, (name, file) in enumerate(config.labels.items()):
        lines = list(dict.fromkeys(read_lines(file)))
        sizes = (config.each, config.dev, config.test)
        if len(lines) < sum(sizes):
            raise ValueError(
                f"{name} has {len(lines):,} different lines, and {sum(sizes):,} are wanted; "
                "lower data.each, data.dev or data.test"
            )
        # The test's lines come first, so that they are the same whatever the number of the others.
        order = np.random.default_rng(0).permutation(len(lines)).tolist()
        ends = np.cumsum([config.test, config.dev, config.each]).tolist()
        for part, start, end in zip((parts.test, parts.dev, parts.train), [0, *ends], ends, strict=False):
            part.texts.extend(lines[i] for i in order[start:end])
            part.labels.extend([label] * (end - start))
    return parts


@dataclass(frozen=True)
class LabelledBatch:
    """What one step of training sees."""

    ids: Int[Tensor, "B L"]
    labels: Int[Tensor, " B"]

    @property
    def size(self) -> int:
        """How many texts."""
        return len(self.labels)

    def to(self, device: torch.device) -> LabelledBatch:
        """The batch on a device."""
        return LabelledBatch(self.ids.to(device), self.labels.to(device))


class LabellingTask(Task):
    """Batches of texts, and their labels."""

    unit = "texts"

    def __init__(self, config: LabellingConfig, parts: LabelledSplit, tokenizer: Tokenizer) -> None:
        self.config, self.parts = config, parts
        longest = config.data.max_tokens - 2
        self.rows = [[SOS, *ids[:longest], EOS] for ids in tokenizer.encode_batch(parts.train.texts)]
        self.dev = pad([[SOS, *ids[:longest], EOS] for ids in tokenizer.encode_batch(parts.dev.texts)])

    def epoch(self, number: int) -> list[list[int]]:
        rng = np.random.default_rng([self.config.training.seed, number])
        order, size = rng.permutation(len(self.rows)).tolist(), self.config.data.batch
        return [order[i : i + size] for i in range(0, len(order), size)]

    def batch(self, examples: Sequence[int], epoch: int) -> LabelledBatch:
        labels = torch.tensor([self.parts.train.labels[i] for i in examples])
        return LabelledBatch(pad([self.rows[i] for i in examples]), labels)

    def loss(self, model: Bert, batch: LabelledBatch, size: int) -> Tensor:
        logits = model.classify(model.hidden(batch.ids)).float()
        smoothing = self.config.training.label_smoothing
        return F.cross_entropy(logits, batch.labels, label_smoothing=smoothing, reduction="sum") / size

    def validate(self, model: Bert, limit: int | None = None) -> Validation:
        device, labels = next(model.parameters()).device, torch.tensor(self.parts.dev.labels)
        with matrix_products(self.config.training.precision, device):
            found = classed(lambda ids: model.classify(model.hidden(ids.to(device))), self.dev, labels)
        names = list(self.config.data.labels)
        wrong = (found.predicted != labels).nonzero().flatten().tolist()[:3]
        samples = [
            Sample(self.parts.dev.texts[i][:60], names[int(labels[i])], f"taken for {names[int(found.predicted[i])]}")
            for i in wrong
        ]
        notes = ("Accuracy in per cent of the development texts",)
        return Validation(found.loss, {"accuracy": 100 * found.accuracy}, samples, notes, found.accuracy)


class Labelling(Work):
    """The run of a model that learns labels."""

    reads = "texts"
    config: LabellingConfig
    parts: LabelledSplit

    def read(self) -> None:
        self.parts = read_labelled(self.config.data)

    def content(self) -> Iterator[bytes]:
        for part in self.parts:
            yield from (f"{label}\t{text}\n".encode() for text, label in zip(*part, strict=True))
            yield b"\0"

    def with_model(self, **fields: object) -> LabellingConfig:
        """The config with some of the model's fields changed, as many labels as there are, and checked again."""
        model = self.config.model.model_dump() | fields | {"n_labels": len(self.config.data.labels)}
        return LabellingConfig.model_validate(self.config.model_dump() | {"model": model})

    def afresh(self) -> Start:
        tokenizer, _ = train_tokenizers(self.config.tokenizer, self.parts.train.texts, [])
        config = self.with_model(vocab=tokenizer.vocab_size)
        return Start(config, config.model.build(), (tokenizer,))

    def further(self, folder: Path) -> Start:
        """A reader with its last layer, which knows other labels, made anew."""
        found, given, tokenizer = read_reader(folder)
        ours = self.config.model
        dropout = {"dropout": ours.dropout, "attention_dropout": ours.attention_dropout}
        config = self.with_model(**found.model.model_dump() | dropout)
        model = config.model.build()
        fresh = {name: value for name, value in weights_of(model).items() if name.startswith("label.")}
        model.load_state_dict(weights_of(given) | fresh, strict=False)
        return Start(config, model, (tokenizer,), folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build(), load_tokenizers(folder)[:1])

    def task(self, start: Start, device: torch.device) -> LabellingTask:
        return LabellingTask(start.config, self.parts, *start.tokenizers)

    def described(self, config: LabellingConfig, model: nn.Module) -> Folder:
        return ReaderFolder(max_tokens=config.data.max_tokens, labels=tuple(config.data.labels), model=config.model)

    def about(self, config: LabellingConfig) -> About:
        what = f"{config.model.summary()}; labels {', '.join(config.data.labels)}"
        files = table_of(list(config.data.labels.values()), weights=False)
        head = "| file | what | licence | sha256 |\n|---|---|---|---|"
        return About("Which kind of text?", what, f"{head}\n{files}\n\n{self.counted()}.")

    def counted(self, task: object = None) -> str:
        return (
            f"{len(self.parts.train.texts):,} texts to train on, {len(self.parts.dev.texts):,} to choose on, "
            f"{len(self.parts.test.texts):,} that it never sees"
        )
