"""How surprised a model that writes is by a text: nats a token, and bits a byte, which any two models can compare.

    bits per byte = Σ - log₂ p(token | before) / bytes of the text         the end of each line counted, 1 byte

A perplexity depends on how a tokenizer cuts the text up; bits per byte do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from prosector.data.texts import stream_of, windows
from prosector.evaluation.perplexity import log_p_of_labels
from prosector.text import Tokenizer


class TextSurprise(NamedTuple):
    """Σ - log p in nats, over so many tokens, which are so many bytes."""

    nats: float
    n_tokens: int
    n_bytes: int

    @property
    def loss(self) -> float:
        """Nats a token."""
        return self.nats / self.n_tokens

    @property
    def perplexity(self) -> float:
        """e^loss."""
        return math.exp(min(self.loss, 700))

    @property
    def bits_per_byte(self) -> float:
        """Bits that a byte of the text costs."""
        return self.nats / math.log(2) / self.n_bytes


def bytes_of(lines: Sequence[str]) -> int:
    """UTF-8 bytes of lines, their ends counted."""
    return sum(len(line.encode()) + 1 for line in lines)


@torch.inference_mode()
def surprise_at(
    model: nn.Module, lines: Sequence[str], tokenizer: Tokenizer, context: int, batch_tokens: int = 2048
) -> TextSurprise:
    """How surprised a model in evaluation is by lines of text, read in windows that overlap by half."""
    device = next(model.parameters()).device
    nats, n_tokens = 0.0, 0
    for block in windows(stream_of(lines, tokenizer), context, batch_tokens):
        block = block.to(device)
        nats -= log_p_of_labels(model(block.ids), block.labels).double().sum().item()
        n_tokens += block.size
    return TextSurprise(nats, n_tokens, bytes_of(lines))
