"""What every model that reads one sequence and writes another can do, whatever is inside.

memory = encode(src)              what is kept of the source
hidden = decode(tgt, memory)      one vector for each target token and its past
logits = hidden · W_outᵀ          a score for each word that may come next
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.blocks import PAD, real_tokens
from prosector.tap import tap


class Seq2Seq(nn.Module, ABC):
    """A translator: source ids in, a score for each next target id out. A model writes the three abstract methods."""

    config: Any
    output: nn.Linear

    @abstractmethod
    def encode(self, src: Int[Tensor, "B Ls"]) -> Tensor:
        """Read the source; the first dimension of what is kept is the batch."""

    @abstractmethod
    def decode(self, tgt: Tensor, memory: Tensor, memory_real: Tensor | None = None, cache: Any = None) -> Tensor:
        """Read what is written so far, with a cache what is new of it: one vector a token."""

    @abstractmethod
    def new_cache(self) -> Any:
        """An empty cache for decoding step by step; `len` counts its tokens, `select` reorders its rows."""

    def real(self, ids: Int[Tensor, "B L"]) -> Bool[Tensor, "B L"] | None:
        """Which tokens are not padding; None if the model has no id for it."""
        special = getattr(self.config, "special", None)
        return real_tokens(ids, PAD if special is None else special.pad)

    def logits(self, hidden: Float[Tensor, "B Lt d"]) -> Float[Tensor, "B Lt V"]:
        """A score for each word that may follow each target token."""
        return tap(self, "logits", self.output(hidden))

    def hidden(self, src: Int[Tensor, "B Ls"], tgt: Int[Tensor, "B Lt"]) -> Float[Tensor, "B Lt d"]:
        """The decoder's vectors for a whole target at once (teacher forcing)."""
        return self.decode(tgt, self.encode(src), self.real(src))

    def forward(self, src: Int[Tensor, "B Ls"], tgt: Int[Tensor, "B Lt"]) -> Float[Tensor, "B Lt V"]:
        """The logits of a whole target at once; `tgt` begins with `<sos>`."""
        return self.logits(self.hidden(src, tgt))
