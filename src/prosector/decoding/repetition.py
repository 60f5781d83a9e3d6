"""The repetition guard: what keeps a small translator from saying the same thing on and on.

"the man of the man of the man of …": once a phrase stands there twice the model is surer of a third
than of anything else. The guard forbids the token that would complete a third copy in a row, of a
phrase of any length:

    the man of the man of the man  →  not "of"

But people do repeat themselves. So

- words may be said as often in a row as the source says something in a row: 哈哈哈哈 allows
  "ha ha ha ha", and "no, no, no, no!" allows 不，不，不，不！
- digits and signs may stand twelve times in a row, or as often as in the source: 10,000,000,
  "......". So may a lone letter inside a word: VIII.

A phrase that comes back later, with something else in between, is never touched, and neither is `<eos>`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple

from prosector.text import Tokenizer
from prosector.text.chinese import HAN

WORDS_IN_A_ROW, SIGNS_IN_A_ROW = 2, 12
_WORDS = re.compile(rf"[{HAN}]|[^\W\d_{HAN}]+")  # as Chinese is not cut into words, its characters stand for them


class Allowed(NamedTuple):
    """How many copies of a phrase may stand in a row, if it has a word in it, and if it has none."""

    words: int = WORDS_IN_A_ROW
    signs: int = SIGNS_IN_A_ROW


def forbidden_next(written: Sequence[int], allowed: Allowed, wordiness: Sequence[int]) -> list[int]:
    """The tokens that would complete one copy too many.

    Let the last m tokens equal the m before them at a distance of n. Then the target ends in
    m + n tokens of period n, and the token written[-n] would make them m + n + 1. That holds more
    than a copies of n tokens if m + 1 ≥ a · n.

    Args:
        written: the target so far.
        allowed: how many copies there may be.
        wordiness: for every token of the vocabulary what `wordiness` says.
    """
    forbidden = []
    for n in range(1, (len(written) + 1) // (min(allowed) + 1) + 1):
        if written[-1] != written[-1 - n]:  # most phrases are ruled out here, at once
            continue
        phrase = written[-n:]
        copies = allowed.words if sum(wordiness[token] for token in phrase) >= 2 else allowed.signs
        m = copies * n - 1
        if m + n <= len(written) and written[-m:] == written[-m - n : -n]:
            forbidden.append(phrase[0])
    return forbidden


def wordiness(piece: str) -> int:
    """How much of a word a token is: 0 without a letter, 1 for a lone letter inside a word, otherwise 2.

    A phrase has a word in it from 2 on. The letters of VIII have none, those of "t h e", spelled
    one by one, do, and so do "▁I" and 我.
    """
    letters = "" if re.fullmatch("<0x[0-9A-F]{2}>", piece) else "".join(filter(str.isalpha, piece))
    within_a_word = letters == piece and letters.lower() != letters.upper()  # Chinese has no capitals
    return 1 if len(letters) == 1 and within_a_word else min(2 * len(letters), 2)


def allowed_by(source: str) -> Allowed:
    """What a source's own repetitions allow: of its words, of the letters in one of them, and of its signs."""
    words = _WORDS.findall(source.casefold())
    signs = [character for character in source if not character.isalpha() and not character.isspace()]
    return Allowed(
        words=max(WORDS_IN_A_ROW, times_in_a_row(words), *map(times_in_a_row, words)),
        signs=max(SIGNS_IN_A_ROW, times_in_a_row(signs)),
    )


def times_in_a_row(parts: Sequence[str]) -> int:
    """The largest number of whole copies of something that stand in a row: hahaha 3, banana 2, word 1."""
    most = min(len(parts), 1)
    for n in range(1, len(parts)):
        if len(parts) // n <= most:
            break  # there is no room for more copies of so long a phrase
        equal = groupby(one == other for one, other in zip(parts, parts[n:], strict=False))
        longest = max((sum(1 for _ in run) for same, run in equal if same), default=0)
        most = max(most, (longest + n) // n)
    return most


class RepetitionGuard:
    """A rule for decoding: `forbidden_next` for each source of a batch."""

    def __init__(self, sources: Sequence[str], wordiness: Sequence[int]) -> None:
        self.allowed = [allowed_by(source) for source in sources]
        self.wordiness = wordiness

    def __call__(self, source: int, written: Sequence[int]) -> Collection[int]:
        return forbidden_next(written, self.allowed[source], self.wordiness)


def wordiness_of(tokenizer: Tokenizer) -> list[int]:
    """`wordiness` of every token of a vocabulary."""
    return [wordiness(tokenizer.piece(id)) for id in range(tokenizer.vocab_size)]
