"""How well two masks agree, class by class.

    Dice = 2 |A ∩ B| / (|A| + |B|)        IoU = |A ∩ B| / |A ∪ B|         1 where both are empty

Counted over all places of all pictures together. Dice is never below IoU: D = 2 I / (1 + I).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor


class Overlap(NamedTuple):
    """Of one class."""

    dice: float
    iou: float


def overlap(ours: Bool[Tensor, "..."], theirs: Bool[Tensor, "..."]) -> Overlap:
    """The agreement of two masks of one shape."""
    both, either = int((ours & theirs).sum()), int((ours | theirs).sum())
    if not either:
        return Overlap(1.0, 1.0)
    return Overlap(2 * both / (both + either), both / either)


def best_threshold(chances: Float[Tensor, "..."], mask: Bool[Tensor, "..."], steps: int = 19) -> float:
    """The probability from which on a place counts, of 0.05, 0.10 … 0.95, so that Dice is highest; of equal ones the
    nearest to a half."""
    candidates = [(number + 1) / (steps + 1) for number in range(steps)]
    return max(candidates, key=lambda t: (overlap(chances >= t, mask).dice, -abs(t - 0.5)))


def of_classes(predicted: Sequence[Tensor], wanted: Sequence[Tensor], n_classes: int) -> list[Overlap]:
    """The agreement of each class but 0, the background, over all pictures."""
    ours, theirs = (torch.cat([mask.flatten() for mask in masks]) for masks in (predicted, wanted))
    return [overlap(ours == number, theirs == number) for number in range(1, n_classes)]
