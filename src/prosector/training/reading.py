"""Learning to read: gaps in sentence pairs are filled, and true pairs told from torn ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.config.folder import Folder, ReaderFolder
from prosector.config.reading import ReadingConfig
from prosector.data.corpus import Pair, read_split
from prosector.data.masking import NOBODY, GapBatches, Gaps
from prosector.decoding.folder import read_reader
from prosector.models.bert import Bert
from prosector.text import Tokenizer, load_tokenizers, train_tokenizers
from prosector.text.special import PAD
from prosector.training.precision import matrix_products
from prosector.training.readme import About, files_of
from prosector.training.report import Sample
from prosector.training.task import Task, Validation
from prosector.training.work import Start, Work, trained_copy

DEV_EPOCH = 2**20  # whose gaps the development pairs always have


class ReadingTask(Task):
    """Batches of pairs with gaps; the loss is that of the gaps and that of the pairs."""

    unit = "gaps"

    def __init__(
        self, config: ReadingConfig, corpora: Sequence[Sequence[Pair]], dev: Sequence[Pair], tokenizer: Tokenizer
    ) -> None:
        self.config, self.tokenizer = config, tokenizer
        weights, seed = [file.weight for file in config.data.train], config.training.seed
        self.batches = GapBatches(corpora, weights, tokenizer, config.data, seed)
        self.dev = GapBatches([dev], [1.0], tokenizer, config.data, seed)

    def epoch(self, number: int) -> list[list[int]]:
        return self.batches.epoch(number)

    def batch(self, examples: Sequence[int], epoch: int) -> Gaps:
        return self.batches.batch(examples, epoch)

    def loss(self, model: Bert, batch: Gaps, size: int) -> Tensor:
        hidden = model.hidden(batch.ids, batch.segments)
        asked = batch.wanted != PAD
        smoothing = self.config.training.label_smoothing
        gaps = F.cross_entropy(
            model.fill(hidden[asked]).float(), batch.wanted[asked], label_smoothing=smoothing, reduction="sum"
        )
        n_pairs = max(int((batch.belong != NOBODY).sum()), 1)
        pairs = F.cross_entropy(model.classify(hidden).float(), batch.belong, reduction="sum") / n_pairs
        return gaps / size + pairs * batch.size / size

    @torch.inference_mode()
    def validate(self, model: Bert, limit: int | None = None) -> Validation:
        device = next(model.parameters()).device
        nats, right, asked, belong, pairs = 0.0, 0, 0, 0, 0
        samples: list[Sample] = []
        for which in self.dev.epoch(DEV_EPOCH):
            batch = self.dev.batch(which, DEV_EPOCH).to(device)
            places = batch.wanted != PAD
            with matrix_products(self.config.training.precision, device):
                hidden = model.hidden(batch.ids, batch.segments)
                filled, label = model.fill(hidden[places]).float(), model.classify(hidden)
            wanted = batch.wanted[places]
            nats += F.cross_entropy(filled, wanted, reduction="sum").item()
            right += int((filled.argmax(dim=1) == wanted).sum())
            belong += int((label.argmax(dim=1) == batch.belong).sum())
            asked, pairs = asked + len(wanted), pairs + int((batch.belong != NOBODY).sum())
            if len(samples) < 3:
                samples.append(self.sample(batch.ids[0], wanted[0], filled[0].argmax()))
        shares = {"gaps": 100 * right / asked, "pairs": 100 * belong / max(pairs, 1)}
        scores = shares | {"perplexity": math.exp(nats / asked)}
        notes = ("Per cent of the gaps, and of the pairs, that are told right",)
        return Validation(nats / asked, scores, samples, notes, -nats / asked)

    def sample(self, ids: Tensor, wanted: Tensor, filled: Tensor) -> Sample:
        """A text as it was read, and what stands in its first gap."""
        pieces = ["[MASK]" if id == self.dev.mask_id else self.tokenizer.piece(id) for id in ids[ids != PAD].tolist()]
        read = "".join(pieces).replace("▁", " ").replace("<sos>", "").replace("<eos>", " |")
        return Sample(read.strip(), self.tokenizer.piece(int(wanted)), self.tokenizer.piece(int(filled)))


class Reading(Work):
    """The run of a model that learns to read."""

    reads = "sentence pairs"
    config: ReadingConfig
    corpora: list[list[Pair]]
    dev: list[Pair]

    def read(self) -> None:
        if not self.config.data.train:
            raise ValueError("there is nothing to train on: name files with --data, or in the preset's data.train")
        self.corpora, self.dev = read_split(self.config.data)
        n_train, n_dev = sum(map(len, self.corpora)), len(self.dev)
        if not n_train or not n_dev:
            raise ValueError(f"there are too few pairs: {n_train} to train on and {n_dev} to choose on; give more")

    def content(self) -> Iterator[bytes]:
        for part in (*self.corpora, self.dev):
            yield from (f"{pair.source}\t{pair.target}\n".encode() for pair in part)
            yield b"\0"

    def afresh(self) -> Start:
        pairs = [pair for corpus in self.corpora for pair in corpus]
        sides = [pair.source for pair in pairs], [pair.target for pair in pairs]
        tokenizer, _ = train_tokenizers(self.config.tokenizer, *sides)
        config = with_model(self.config, vocab=tokenizer.vocab_size)
        return Start(config, config.model.build(), (tokenizer,))

    def further(self, folder: Path) -> Start:
        found, given, tokenizer = read_reader(folder)
        dropout = {name: getattr(self.config.model, name) for name in ("dropout", "attention_dropout")}
        config = with_model(self.config.model_copy(update={"model": found.model}), **dropout)
        model = trained_copy(config.model, given, folder)
        return Start(config, model, (tokenizer,), folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build(), load_tokenizers(folder)[:1])

    def task(self, start: Start, device: torch.device) -> ReadingTask:
        return ReadingTask(start.config, self.corpora, self.dev, *start.tokenizers)

    def described(self, config: ReadingConfig, model: nn.Module) -> Folder:
        return ReaderFolder(max_tokens=config.data.max_tokens, model=config.model)

    def about(self, config: ReadingConfig) -> About:
        what = f"{config.model.summary()}; a vocabulary of {config.model.vocab:,} entries"
        return About("A reader", what, files_of(config.data.train, config.data.dev))

    def counted(self, task: ReadingTask) -> str:
        batches = task.batches
        return (
            f"{len(batches.pairs):,} pairs to train on ({batches.dropped:,} left out as too long), "
            f"{len(task.dev.pairs):,} to choose on"
        )


def with_model(config: ReadingConfig, **changes: object) -> ReadingConfig:
    """The config with some of the model's fields changed, and checked again."""
    return ReadingConfig.model_validate(config.model_dump() | {"model": config.model.model_dump() | changes})
