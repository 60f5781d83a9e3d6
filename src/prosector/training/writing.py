"""Learning to write: running text, cross-entropy, and how many bits a byte of unseen text costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from prosector.config.folder import Folder, WriterFolder
from prosector.config.writing import WritingConfig
from prosector.data.texts import Block, Blocks, read_texts, stream_of
from prosector.decoding.folder import read_writer
from prosector.decoding.writer import TextWriter
from prosector.evaluation.texts import surprise_at
from prosector.models.gpt import Gpt
from prosector.text import Tokenizer, load_tokenizers, train_tokenizers
from prosector.training.loss import chunked_cross_entropy
from prosector.training.precision import matrix_products
from prosector.training.readme import About, files_of
from prosector.training.report import Sample
from prosector.training.task import Task, Validation
from prosector.training.work import Start, Work, trained_copy


class WritingTask(Task):
    """Blocks of running text, and the next token at each place."""

    unit = "tokens"

    def __init__(self, config: WritingConfig, train: Sequence[str], dev: list[str], tokenizer: Tokenizer) -> None:
        self.config, self.dev, self.tokenizer = config, dev, tokenizer
        data = config.data
        self.blocks = Blocks(stream_of(train, tokenizer), data.context, data.batch_tokens, config.training.seed)

    def epoch(self, number: int) -> list[list[int]]:
        return self.blocks.epoch(number)

    def batch(self, examples: Sequence[int], epoch: int) -> Block:
        return self.blocks.batch(examples)

    def loss(self, model: Gpt, batch: Block, size: int) -> Tensor:
        smoothing = self.config.training.label_smoothing
        return chunked_cross_entropy(model.hidden(batch.ids), model.output.weight, batch.labels, smoothing, size)

    def validate(self, model: Gpt, limit: int | None = None) -> Validation:
        """Bits a byte of the development lines; and what it goes on with after the beginnings of some."""
        lines = self.dev[:limit]
        device = next(model.parameters()).device
        with matrix_products(self.config.training.precision, device):
            found = surprise_at(model, lines, self.tokenizer, self.config.data.context)
            writer = TextWriter(
                WriterFolder(context=self.config.data.context, model=self.config.model), model, self.tokenizer
            )
            samples = [
                Sample(line[:third], line, writer.write(line[:third], max_tokens=24, temperature=0.8, seed=1))
                for line in [line for line in lines if len(line) > 9][:3]
                if (third := len(line) // 3)
            ]
        scores = {"bits/byte": found.bits_per_byte, "perplexity": found.perplexity}
        return Validation(
            found.loss, scores, samples, ("Perplexity of a token, windows that overlap by half",), -found.loss
        )


class Writing(Work):
    """The run of a model that only writes."""

    reads = "texts"
    config: WritingConfig
    train: list[list[str]]
    dev: list[str]

    def read(self) -> None:
        if not self.config.data.train:
            raise ValueError("there is nothing to train on: name texts with --data, or in the preset's data.train")
        self.train, self.dev = read_texts(self.config.data)
        if not any(self.train) or not self.dev:
            raise ValueError("there is too little text: a line to train on and one to choose on are the least")

    def content(self) -> Iterator[bytes]:
        for text in [*self.train, self.dev]:
            yield from (f"{line}\n".encode() for line in text)
            yield b"\0"

    def with_tokenizer(self, config: WritingConfig, tokenizer: Tokenizer, **changes: object) -> WritingConfig:
        """The config for this vocabulary, with some of the model's fields changed, and checked again."""
        model = config.model.model_dump() | changes | {"vocab": tokenizer.vocab_size}
        return WritingConfig.model_validate(config.model_dump() | {"model": model})

    def afresh(self) -> Start:
        lines = [line for text in self.train for line in text]
        tokenizer, _ = train_tokenizers(self.config.tokenizer.model_copy(update={"joint": True}), lines, [])
        config = self.with_tokenizer(self.config, tokenizer)
        return Start(config, config.model.build(), (tokenizer,))

    def further(self, folder: Path) -> Start:
        found, given, tokenizer = read_writer(folder)
        ours = self.config.model
        config = self.config.model_copy(update={"model": found.model})
        dropout = {"dropout": ours.dropout, "attention_dropout": ours.attention_dropout}
        config = self.with_tokenizer(config, tokenizer, **dropout)
        model = trained_copy(config.model, given, folder)
        return Start(config, model, (tokenizer,), folder.name)

    def again(self, folder: Path) -> Start:
        return Start(self.config, self.config.model.build(), load_tokenizers(folder)[:1])

    def task(self, start: Start, device: torch.device) -> WritingTask:
        lines = [line for text in self.train for line in text]
        return WritingTask(start.config, lines, self.dev, *start.tokenizers)

    def described(self, config: WritingConfig, model: nn.Module) -> Folder:
        return WriterFolder(context=config.data.context, model=config.model)

    def about(self, config: WritingConfig) -> About:
        what = f"{config.model.summary()}; a vocabulary of {config.model.vocab:,} entries"
        return About("A writer", what, files_of(config.data.train, config.data.dev))

    def counted(self, task: WritingTask) -> str:
        n_lines = sum(map(len, self.train))
        return (
            f"{n_lines:,} lines, {len(task.blocks.stream):,} tokens to train on, {len(self.dev):,} lines to choose on "
            f"(an epoch is {math.ceil(len(task.blocks.stream) / self.config.data.batch_tokens):,} steps)"
        )
