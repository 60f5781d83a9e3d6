"""What decoding returns: a written target with its score."""

from __future__ import annotations

from typing import NamedTuple


class Hypothesis(NamedTuple):
    """A target, without `<sos>` and `<eos>`.

    Attributes:
        ids: its tokens.
        log_p: Σ log p of the tokens, in nats; `<eos>` counted if it is finished.
        score: log_p / lengthᵅ, where the length counts what log_p counts.
        finished: whether it ended by itself; otherwise it was cut at the longest length.
    """

    ids: list[int]
    log_p: float
    score: float
    finished: bool


def hypothesis(ids: list[int], log_p: float, finished: bool, alpha: float) -> Hypothesis:
    """A hypothesis with its score worked out."""
    return Hypothesis(ids, log_p, length_normalised(log_p, len(ids) + finished, alpha), finished)


def length_normalised(log_p: float, length: int, alpha: float) -> float:
    """Σ log p / lengthᵅ, `<eos>` counted: without it (α = 0) short targets always win.

    Every token makes a hypothesis less probable, however good it is; at α = 1 the score is the mean
    log p of a token (Wu et al. 2016, section 7, whose penalty ((5 + length) / 6)ᵅ is another curve).
    """
    return log_p / max(length, 1) ** alpha
