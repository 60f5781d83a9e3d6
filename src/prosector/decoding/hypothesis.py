"""What decoding returns: a written target with its score, and when to stop writing."""

from __future__ import annotations

from typing import NamedTuple

PAD, UNK, SOS, EOS = 0, 1, 2, 3


class Hypothesis(NamedTuple):
    """A target, without `<sos>` and `<eos>`.

    Attributes:
        ids: its tokens.
        log_p: Σ log p of the tokens, `<eos>` counted.
        score: log_p / lengthᵅ, `<eos>` counted in the length.
        finished: whether it ended by itself rather than at the longest length.
    """

    ids: list[int]
    log_p: float
    score: float
    finished: bool


def length_normalised(log_p: float, length: int, alpha: float) -> float:
    """Σ log p / lengthᵅ: without it (α = 0) short targets always win."""
    return log_p / max(length, 1) ** alpha
