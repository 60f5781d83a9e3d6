"""What every decoder stands on: a batch of sources read once, then one more token at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.attention import Cache
from prosector.config.special import SpecialIds

OURS = SpecialIds()


def special_of(model: object) -> SpecialIds:
    """The ids that are no text for a model: its config's, or ours if it says nothing of them."""
    found: SpecialIds = getattr(getattr(model, "config", None), "special", OURS)
    return found


class EncoderDecoder(Protocol):
    """A model that reads a source and writes a target; the Transformer is one."""

    def encode(self, src: Tensor) -> Tensor: ...
    def decode(self, tgt: Tensor, memory: Tensor, memory_real: Tensor, cache: Cache) -> Tensor: ...
    def logits(self, hidden: Tensor) -> Tensor: ...
    def new_cache(self) -> Cache: ...


class Writer:
    """Some targets being written: the encoded sources, and the cache of what is written so far.

    At first there is one row a source, in order; `select` copies, reorders and drops rows.
    """

    def __init__(self, model: EncoderDecoder, src: Int[Tensor, "B Ls"]) -> None:
        self.model = model
        special = special_of(model)
        self.unwritten = special.unwritten
        self.real = torch.ones_like(src, dtype=torch.bool) if special.pad is None else src != special.pad
        self.memory = model.encode(src)
        self.cache = model.new_cache()

    def step(self, tokens: Sequence[int], forbidden: Sequence[Collection[int]]) -> Float[Tensor, "B V"]:
        """Write one more token a row, and get log p of every word that may follow.

        What is forbidden in a row gets -∞; the others keep the model's own log p, so that scores stay
        comparable whatever is forbidden. In float32 at least.
        """
        new = torch.tensor(tokens, device=self.real.device)[:, None]  # [B, 1]
        hidden = self.model.decode(new, self.memory, self.real, self.cache)
        logits = self.model.logits(hidden[:, -1])
        log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
        log_p[:, self.unwritten] = -torch.inf
        places = [(row, token) for row, tokens in enumerate(forbidden) for token in tokens]
        if places:
            rows, columns = torch.tensor(places, device=log_p.device).T
            log_p[rows, columns] = -torch.inf
        return log_p

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; a row may be taken twice."""
        if list(rows) == list(range(len(self.real))):
            return
        index = torch.tensor(rows, dtype=torch.long, device=self.real.device)
        self.memory, self.real = self.memory.index_select(0, index), self.real.index_select(0, index)
        self.cache.select(index)


def one_for_each(max_length: int | Sequence[int], n_sources: int) -> list[int]:
    """The longest length of each source's target, given as one number for all or one for each.

    Raises:
        ValueError: there are not as many numbers as sources.
    """
    longest = [max_length] * n_sources if isinstance(max_length, int) else list(max_length)
    if len(longest) != n_sources:
        raise ValueError(
            f"max_length has {len(longest)} numbers for {n_sources} sources; give one for each, or one for all"
        )
    return longest
