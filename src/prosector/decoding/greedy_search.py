"""Greedy decoding: always the likeliest next word."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float, Int
from torch import Tensor

from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.path import write
from prosector.decoding.rules import Rule, anything_goes
from prosector.decoding.step import EncoderDecoder


def greedy(
    model: EncoderDecoder,
    src: Int[Tensor, "B Ls"],
    max_length: int | Sequence[int],
    alpha: float = 1.0,
    rule: Rule = anything_goes,
) -> list[Hypothesis]:
    """Write each row's target, taking argmax p(next | source, written) every time.

    Args:
        src: the sources' ids, `<pad>` on the right.
        max_length: tokens of the longest target, `<eos>` not counted; one number, or one a row.
        alpha: the score is Σ log p / lengthᵅ; it does not change what is written.
        rule: which tokens must not come next.
    """
    return write(model, src, max_length, likeliest, alpha, rule)


def likeliest(log_p: Float[Tensor, "B V"], sources: Sequence[int], n_written: int) -> Int[Tensor, " B"]:
    """The likeliest token of each row, the one with the lower id where two are equal."""
    return log_p.argmax(dim=-1)
