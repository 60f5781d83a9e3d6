"""A model that only writes, as one that reads a beginning and writes what follows: so greedy, beam and sampling do.

    encode(beginnings)     nothing is computed: they are put to the right, so that all end at the same place
    decode(first step)     reads the beginnings in place of a begin
    decode(later)          one more token a row

Shapes: B rows, L tokens of the longest beginning.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.attention import Cache, Mask
from prosector.models.gpt import Gpt


class Continuation:
    """What `Writer`, and so every search, asks of a model.

    Args:
        model: one that only writes.
        pad: what fills up shorter beginnings, on either side; the model's own padding by default, and if it has none,
            beginnings have one length.
    """

    def __init__(self, model: Gpt, pad: int | None = None) -> None:
        special = model.config.special
        pad = special.pad if pad is None else pad
        self.model = model
        self.config = model.config.model_copy(update={"special": special.model_copy(update={"pad": pad})})
        self.pad = pad
        self.logits = model.logits
        self.new_cache = model.new_cache

    def encode(self, src: Int[Tensor, "B L"]) -> Int[Tensor, "B L"]:
        """The beginnings, padded on the left.

        Raises:
            ValueError: one is empty: there is nothing to go on with.
        """
        real = self.real(src)
        if not real.any(dim=1).all():
            raise ValueError("a beginning has no token; begin with the model's begin or end")
        order = real.to(torch.uint8).argsort(dim=1, stable=True)  # padding first, the rest in order
        return src.gather(1, order)

    def real(self, ids: Int[Tensor, "B L"]) -> Tensor:
        """Which tokens of beginnings are not padding."""
        return torch.ones_like(ids, dtype=torch.bool) if self.pad is None else ids != self.pad

    def decode(
        self, tgt: Int[Tensor, "B 1"], memory: Int[Tensor, "B L"], memory_real: Tensor, cache: Cache
    ) -> Float[Tensor, "B Ln d"]:
        """The vectors of what is new: of the beginnings first, then of one token a row."""
        real = self.real(memory)
        ids = tgt if len(cache) else memory
        n_later = len(cache) + tgt.shape[1] - memory.shape[1] if len(cache) else 0
        real = torch.cat([real, real.new_ones(len(real), n_later)], dim=1)  # [B, Lk]
        places = (real.cumsum(dim=1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        return self.model.hidden(ids, cache, places, Mask.causal() & Mask.keys(real))
