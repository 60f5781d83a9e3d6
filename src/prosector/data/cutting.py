"""Rows of like length gathered into batches."""

from __future__ import annotations

from collections.abc import Sequence


def cut(lengths: Sequence[int], order: Sequence[int], budget: int) -> list[list[int]]:
    """Cut an order of examples, sorted by length, into batches whose padded size stays within the budget."""
    batches: list[list[int]] = []
    longest = 0
    for index in order:
        longest = max(longest, lengths[index])
        if not batches or (len(batches[-1]) + 1) * longest > budget:
            batches.append([])
            longest = lengths[index]
        batches[-1].append(index)
    return batches
