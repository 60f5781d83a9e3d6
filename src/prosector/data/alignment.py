"""Which word is translated by which: IBM Model 1, learned from sentence pairs alone (Brown et al. 1993, section 4.1).

    p(t | source) = Σ_s p(t | s) / (n + 1)        every target word comes from one of the source's n words, or from none

Expectation maximisation finds p(t | s): each target word is shared out among the words of its source, in the
proportions that p has so far; then p(t | s) is what s got of t over all that s got. The likelihood never falls.

Words are ids; "none" is one more source word behind the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

Ids = np.ndarray[tuple[int], np.dtype[np.int64]]
Floats = np.ndarray[tuple[int], np.dtype[np.float64]]
PAIRS = 20_000  # laid out at once
ROUNDS = 5

Pair = tuple[Sequence[int], Sequence[int]]


class Lexicon(NamedTuple):
    """p(target | source) where it is not 0, by source word and, of one, the likeliest first."""

    source: Ids
    target: Ids
    p: Floats

    def of(self, word: int) -> list[tuple[int, float]]:
        """How a source word is translated: words with their probability, the likeliest first."""
        first, end = np.searchsorted(self.source, [word, word + 1])
        return list(zip(self.target[first:end].tolist(), self.p[first:end].tolist(), strict=True))


class _Cells(NamedTuple):
    """Some pairs laid out: every target word beside every word of its source, and none.

    Attributes:
        which: of all pairs of words that occur, which one a cell is.
        start: where each target word's cells begin.
    """

    which: np.ndarray[tuple[int], np.dtype[np.int32]]
    start: Ids


def align(pairs: Sequence[Pair], source_words: int, target_words: int, rounds: int = ROUNDS) -> Lexicon:
    """p(t | s) after some rounds, begun with every word alike.

    Args:
        pairs: ids of each source and of its target.
        source_words: ids of sources are below it; "none" is this number itself.
        target_words: ids of targets are below it.
        rounds: of expectation maximisation.

    Raises:
        ValueError: there are no pairs of which both sides have words, or an id is not in its vocabulary.
    """
    parts = [laid_out(pairs[i : i + PAIRS], source_words, target_words) for i in range(0, len(pairs), PAIRS)]
    words = np.unique(np.concatenate([keys for keys, _ in parts] or [np.empty(0, np.int64)]))
    if not len(words):
        raise ValueError("nothing can be aligned: no pair has words on both sides")
    cells = [_Cells(np.searchsorted(words, keys).astype(np.int32)[part.which], part.start) for keys, part in parts]
    source, target = words // target_words, words % target_words
    p = np.ones(len(words))
    for _ in range(rounds):
        shares = sum(shared_out(some, p) for some in cells if len(some.start))
        p = shares / np.bincount(source, shares, source_words + 1)[source]
    order = np.lexsort((-p, source))
    return Lexicon(source[order], target[order], p[order])


def laid_out(pairs: Sequence[Pair], source_words: int, target_words: int) -> tuple[Ids, _Cells]:
    """Which words occur together in some pairs, each as source · target_words + target, and the cells of them all.

    Raises:
        ValueError: an id is not in its vocabulary.
    """
    keys, sizes = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for source, target in pairs:
        if not source or not target:
            continue
        if min(*source, *target) < 0 or max(source) >= source_words or max(target) >= target_words:
            raise ValueError("an id is not in its vocabulary: the pairs were made by other tokenizers")
        with_none = np.array([*source, source_words], np.int64)
        keys.append((with_none * target_words + np.array(target, np.int64)[:, None]).ravel())
        sizes.append(np.full(len(target), len(with_none)))
    ends = np.cumsum(np.concatenate(sizes))
    found, which = np.unique(np.concatenate(keys), return_inverse=True)
    return found, _Cells(which.astype(np.int32), np.concatenate([[0], ends[:-1]]) if len(ends) else ends)


def shared_out(cells: _Cells, p: Floats) -> Floats:
    """What each pair of words gets if every target word is shared out in proportion to p."""
    weights = p[cells.which]
    whole = np.add.reduceat(weights, cells.start)
    weights /= np.repeat(whole, np.diff(cells.start, append=len(weights)))
    return np.bincount(cells.which, weights, len(p)).astype(np.float64)


def log_likelihood(pairs: Sequence[Pair], lexicon: Lexicon, source_words: int) -> float:
    """Σ over all target words of ln Σ_s p(t | s) / (n + 1)."""
    words = zip(lexicon.source.tolist(), lexicon.target.tolist(), strict=True)
    table: dict[tuple[int, int], float] = dict(zip(words, lexicon.p.tolist(), strict=True))
    return float(sum(np.log(mean) for source, target in pairs for mean in _means(source, target, table, source_words)))


def _means(
    source: Sequence[int], target: Sequence[int], table: dict[tuple[int, int], float], none: int
) -> Iterator[float]:
    for word in target:
        yield sum(table.get((other, word), 0.0) for other in (*source, none)) / (len(source) + 1)
