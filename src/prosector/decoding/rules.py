"""What must not come next: a rule that every decoder asks before it writes a token."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

# Which tokens must not come next, given the number of the source and what is written for it so far.
# `<eos>` may not be among them, so that there is always something to write.
Rule = Callable[[int, Sequence[int]], Collection[int]]


def anything_goes(source: int, written: Sequence[int]) -> Collection[int]:
    """The rule that forbids nothing."""
    return ()
