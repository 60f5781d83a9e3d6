"""Running text as tensors: one long line of tokens, cut into blocks.

    text      我喜欢猫。⏎ 你呢？⏎
    stream    我 喜欢 猫 。 <eos> 你 呢 ？ <eos>             <eos> is the end of a line
    block     reads  x_i … x_{i+L-1},  and says  x_{i+1} … x_{i+L}

Every epoch cuts elsewhere, so that each token is met with other pasts. An epoch's blocks are a function of the seed and
the epoch's number alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from prosector.config.texts import TextFileConfig, TextsConfig
from prosector.data.corpus import find, lines
from prosector.text.special import EOS, PAD
from prosector.text.tokenizer import Tokenizer

COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # escape sequences of a terminal
BETWEEN = "%"  # stands alone between the sayings of a fortune file


def read_lines(file: TextFileConfig) -> list[str]:
    """The lines of a text that are not blank; a terminal's colours and a fortune file's separators are left out.

    Raises:
        ValueError: a line has no such column, or there is no line at all.
    """
    path = find(file.path)
    found = []
    for number, line in enumerate(lines(path), start=1):
        if file.column is not None and line.strip():
            cells = line.split("\t")
            if len(cells) < file.column:
                raise ValueError(f"{path}, line {number}: {len(cells)} columns, and column {file.column} is wanted")
            line = cells[file.column - 1]
        line = COLOURS.sub("", line).strip()
        if line and line != BETWEEN:
            found.append(line)
    if not found:
        raise ValueError(f"{path} holds no text")
    return found


def read_texts(config: TextsConfig) -> tuple[list[list[str]], list[str]]:
    """The training texts, and the lines to choose on: without files of their own, the end of each text."""
    train = [read_lines(file) for file in config.train]
    dev = [line for file in config.dev for line in read_lines(file)]
    if not config.dev:
        ends = [max(1, len(text) // 20) for text in train]
        dev = [line for text, end in zip(train, ends, strict=True) for line in text[len(text) - end :]]
        train = [text[: len(text) - end] for text, end in zip(train, ends, strict=True)]
    return train, dev


@dataclass(frozen=True)
class Block:
    """What one step of training sees."""

    ids: Int[Tensor, "B L"]
    labels: Int[Tensor, "B L"]
    size: int  # labels that count

    def to(self, device: torch.device) -> Block:
        """The block on a device."""
        return Block(self.ids.to(device), self.labels.to(device), self.size)


def stream_of(texts: Sequence[str], tokenizer: Tokenizer) -> Int[Tensor, " N"]:
    """All lines one after the other, each ended by `<eos>`, and one before the first."""
    ids = [EOS]
    for line in tokenizer.encode_batch(texts):
        ids += [*line, EOS]
    return torch.tensor(ids)


class Blocks:
    """The blocks of a stream, epoch after epoch, each epoch cut elsewhere."""

    def __init__(self, stream: Int[Tensor, " N"], context: int, batch_tokens: int, seed: int) -> None:
        self.stream, self.context, self.seed = stream, context, seed
        self.rows = max(1, batch_tokens // context)

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as lists of places where a block begins."""
        rng = np.random.default_rng([self.seed, number])
        first = int(rng.integers(0, self.context)) if len(self.stream) > 2 * self.context else 0
        starts = rng.permutation(np.arange(first, max(len(self.stream) - 1, first + 1), self.context)).tolist()
        return [starts[i : i + self.rows] for i in range(0, len(starts), self.rows)]

    def batch(self, starts: Sequence[int]) -> Block:
        """Blocks as tensors; the stream's last one is filled up with `<pad>`."""
        rows = torch.full((len(starts), self.context + 1), PAD)
        for row, start in zip(rows, starts, strict=True):
            part = self.stream[start : start + self.context + 1]
            row[: len(part)] = part
        labels = rows[:, 1:]
        return Block(rows[:, :-1] * (labels != PAD), labels, int((labels != PAD).sum()))


def windows(stream: Int[Tensor, " N"], context: int, batch_tokens: int) -> Iterator[Block]:
    """A stream to be measured: windows that overlap by half, so that each token but the first has a past to go by.

    Only the second half of a window counts (of the first window, all).
    """
    stride = max(1, context // 2)
    rows = max(1, batch_tokens // context)
    starts = list(range(0, max(len(stream) - 1 - (context - stride), 1), stride))
    for i in range(0, len(starts), rows):
        ids, labels = torch.full((2, len(starts[i : i + rows]), context), PAD).unbind()
        for x, y, start in zip(ids, labels, starts[i : i + rows], strict=True):
            part = stream[start : start + context + 1]
            x[: len(part) - 1], y[: len(part) - 1] = part[:-1], part[1:]
            if start:
                y[: context - stride] = PAD
        yield Block(ids, labels, int((labels != PAD).sum()))
