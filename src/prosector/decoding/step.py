"""What every decoder stands on: a batch of sources read once, then one more token at a time."""

from __future__ import annotations

from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.attention import Cache


class EncoderDecoder(Protocol):
    """A model that reads a source and writes a target; the Transformer is one."""

    def encode(self, src: Tensor) -> Tensor: ...
    def decode(self, tgt: Tensor, memory: Tensor, memory_real: Tensor, cache: Cache) -> Tensor: ...
    def logits(self, hidden: Tensor) -> Tensor: ...
    def new_cache(self) -> Cache: ...


class Writer:
    """Some targets being written: the encoded sources, and the cache of what is written so far."""

    def __init__(self, model: EncoderDecoder, src: Int[Tensor, "B Ls"]) -> None:
        self.model = model
        self.real = src != 0
        self.memory = model.encode(src)
        self.cache = model.new_cache()

    def step(self, tokens: Int[Tensor, " B"]) -> Float[Tensor, "B V"]:
        """Write one more token a row, and get log p of every word that may follow."""
        hidden = self.model.decode(tokens[:, None], self.memory, self.real, self.cache)
        logits = self.model.logits(hidden[:, -1])
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)

    def select(self, rows: Int[Tensor, " B2"]) -> None:
        """Go on with these rows, in this order."""
        self.memory, self.real = self.memory.index_select(0, rows), self.real.index_select(0, rows)
        self.cache.select(rows)
