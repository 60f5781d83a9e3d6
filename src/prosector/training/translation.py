"""Learning to translate: sentence pairs, label-smoothed cross-entropy, chrF and BLEU of greedy translations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from prosector.config.folder import TranslatorFolder
from prosector.config.model import n_positions, require_room
from prosector.config.run import RunConfig
from prosector.data.batching import Batch, Batches, share
from prosector.data.corpus import Pair, read_split
from prosector.decoding.folder import read_model
from prosector.models.seq2seq import Seq2Seq
from prosector.text import Tokenizer, load_tokenizers, train_tokenizers
from prosector.training.loss import chunked_cross_entropy
from prosector.training.readme import About, files_of
from prosector.training.task import Task, Validation
from prosector.training.validate import Validator
from prosector.training.work import Start, Work, trained_copy

NAMES = {"zh": "Chinese", "en": "English"}


class TranslationTask(Task):
    """Batches of sentence pairs, and the next word of each target."""

    unit = "target tokens"

    def __init__(self, batches: Batches, validator: Validator, smoothing: float) -> None:
        self.batches, self.validator, self.smoothing = batches, validator, smoothing

    def epoch(self, number: int) -> list[list[int]]:
        return self.batches.epoch(number)

    def batch(self, examples: Sequence[int], epoch: int) -> Batch:
        return self.batches.batch(examples, epoch)

    def loss(self, model: Seq2Seq, batch: Batch, size: int) -> Tensor:
        hidden = model.hidden(batch.src, batch.tgt_in)
        return chunked_cross_entropy(hidden, model.output.weight, batch.labels, self.smoothing, size)

    def validate(self, model: Seq2Seq, limit: int | None = None) -> Validation:
        return self.validator(model, limit)


def learn_tokenizers(config: RunConfig, corpora: Sequence[Sequence[Pair]]) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers from the training pairs alone, in the proportions of an epoch."""
    pairs = [
        corpus[i]
        for corpus, file in zip(corpora, config.data.train, strict=True)
        for i in share(range(len(corpus)), file.weight, 0, config.training.seed)
    ]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return train_tokenizers(config.tokenizer, sources, targets, config.data.source, config.data.target)


def with_model(config: RunConfig, **changes: object) -> RunConfig:
    """The config with some of the model's fields changed, and checked again."""
    model = type(config.model).model_validate(config.model.model_dump() | changes)
    require_room(model, config.data.max_tokens)
    return config.model_copy(update={"model": model})


class Translation(Work):
    """A translator's run."""

    reads = "sentence pairs"
    config: RunConfig
    corpora: list[list[Pair]]
    dev: list[Pair]

    def read(self) -> None:
        self.corpora, self.dev = read_split(self.config.data)
        if not self.config.data.train:
            raise ValueError("there is nothing to train on: name files with --data, or in the preset's data.train")
        if not any(self.corpora) or not self.dev:
            n_train, n_dev = sum(map(len, self.corpora)), len(self.dev)
            raise ValueError(f"there are too few pairs: {n_train} to train on and {n_dev} to choose on; give more")

    def content(self) -> Iterator[bytes]:
        for corpus in [*self.corpora, self.dev]:
            yield from (f"{pair.source}\t{pair.target}\n".encode() for pair in corpus)
            yield b"\0"

    def afresh(self) -> Start:
        source, target = learn_tokenizers(self.config, self.corpora)
        config = with_model(self.config, source_vocab=source.vocab_size, target_vocab=target.vocab_size)
        return Start(config, config.model.build(), (source, target))

    def further(self, folder: Path) -> Start:
        found, given, *tokenizers = read_model(folder)
        data, ours = self.config.data, self.config.model
        if (found.source, found.target) != (data.source, data.target):
            raise ValueError(
                f"{folder} translates {found.source} to {found.target}, this run {data.source} to {data.target}; "
                "set data.source and data.target, or start from another model"
            )
        both = type(ours).model_fields.keys() & type(found.model).model_fields.keys()
        dropout = {name: getattr(ours, name) for name in both & {"dropout", "attention_dropout"}}
        config = with_model(self.config.model_copy(update={"model": found.model}), **dropout)
        model = trained_copy(config.model, given, folder)
        return Start(config, model, tuple(tokenizers), folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build(), load_tokenizers(folder))

    def task(self, start: Start, device: torch.device) -> TranslationTask:
        config, (source, target) = start.config, start.tokenizers
        validator = Validator(self.dev, source, target, config, device)
        if not validator.pairs:
            raise ValueError("every development pair has more tokens than the model has positions; give shorter ones")
        weights = [file.weight for file in config.data.train]
        longest = n_positions(config.model)
        batches = Batches(self.corpora, weights, source, target, config.data, config.training.seed, longest)
        return TranslationTask(batches, validator, config.training.label_smoothing)

    def described(self, config: RunConfig, model: nn.Module) -> TranslatorFolder:
        shared = config.data.model_dump(include={"source", "target", "source_eos", "max_tokens"})
        return TranslatorFolder(**shared, kind=config.model.kind, model=config.model)

    def about(self, config: RunConfig) -> About:
        model, data = config.model, config.data
        return About(
            f"{NAMES[data.source]} to {NAMES[data.target]}",
            f"{model.summary()}; vocabularies of {model.source_vocab:,} and {model.target_vocab:,} entries",
            files_of(data.train, data.dev),
        )

    def counted(self, task: TranslationTask) -> str:
        batches = task.batches
        return (
            f"{len(batches.texts):,} pairs to train on ({batches.dropped:,} left out as too long), "
            f"{len(task.validator.pairs):,} to choose on"
        )
