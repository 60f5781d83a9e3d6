"""A long line cut into blocks of queries: which keys each block can reach, and the mask of that block alone.

A table of all pairs grows with the square of the length. A block of a few hundred queries meets L keys at most, and
under a sliding window no more than the window's.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from prosector.attention.masks import Both, Either, Extent, Mask, Pairs, Window

Reach = tuple[int | None, int | None]  # positions back and ahead; None is without end
Span = tuple[slice, slice]  # queries, keys


def reach(mask: Mask | None) -> Reach:
    """How far a mask lets a query look at most, back and ahead; keys within its reach may still be forbidden."""
    match mask:
        case Window(left, right):
            return left, right
        case Both(first, second):
            pairs = zip(reach(first), reach(second), strict=True)
            back, ahead = (min((end for end in pair if end is not None), default=None) for pair in pairs)
            return back, ahead
        case Either(first, second):
            pairs = zip(reach(first), reach(second), strict=True)
            back, ahead = (None if None in pair else max(end for end in pair if end is not None) for pair in pairs)
            return back, ahead
        case _:
            return None, None


def spans(n_queries: int, n_keys: int, size: int, reached: Reach) -> list[Span]:
    """Blocks of `size` queries, each with the keys within its reach, where the queries are the last of the keys."""
    left, right = reached
    behind = n_keys - n_queries  # how many keys stand before the first query
    found = []
    for start in range(0, n_queries, size):
        end = min(start + size, n_queries)
        first = 0 if left is None else max(behind + start - left, 0)
        last = n_keys if right is None else min(behind + end + right, n_keys)
        found.append((slice(start, end), slice(first, last)))
    return found


@dataclass(frozen=True, eq=False)
class Part(Mask):
    """A mask for some of its queries and keys, which are counted from 0 again."""

    whole: Mask
    first_query: int
    first_key: int

    @property
    def extent(self) -> Extent:  # type: ignore[override]
        return self.whole.extent._replace(queries=None, keys=None)

    def allows(self, pairs: Pairs) -> Tensor:
        return self.whole.allows(pairs._replace(query=pairs.query + self.first_query, key=pairs.key + self.first_key))
