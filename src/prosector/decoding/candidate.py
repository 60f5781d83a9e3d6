"""What a translator offers: texts with scores, and those of a text's pieces put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import nlargest
from typing import Any, NamedTuple


class Candidate(NamedTuple):
    """One translation of a text.

    Attributes:
        text: the translation.
        score: Σ log p / lengthᵅ, the higher the better; of a text translated in pieces, the pieces' mean.
            What stays as it is has 0, as if it were certain.
        finished: whether it ended by itself; otherwise it was cut at the longest length.
    """

    text: str
    score: float
    finished: bool


def distinct(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate a text, the first: the same text can be spelled with other tokens."""
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        first.setdefault(candidate.text, candidate)
    return list(first.values())


def put_together(pieces: Sequence[Sequence[Candidate]], glue: Sequence[str], n: int) -> list[Candidate]:
    """The n best translations of a text from the candidates of its pieces, the best first.

    Pieces are independent, so a whole's score is their mean, and the best whole is each one's best.
    All combinations would be too many: of the beginnings only the n best are kept at every piece,
    and no better whole is lost, for what follows adds the same to all of them.

    Args:
        pieces: the candidates of each piece.
        glue: what stands after each piece.
    """
    wholes: list[tuple[float, Any]] = [(0.0, ())]  # the sum of the scores, and the chain ((((), c1), c2), …)
    for candidates in pieces:
        longer = [(total + one.score, (chain, one)) for total, chain in wholes for one in candidates]
        wholes = nlargest(n, longer, key=lambda whole: whole[0])
    found = []
    for total, chain in wholes:
        chosen: list[Candidate] = []
        while chain:
            chain, one = chain
            chosen.append(one)
        chosen.reverse()
        text = "".join(part for one, after in zip(chosen, glue, strict=True) for part in (one.text, after))
        found.append(Candidate(text, total / max(len(pieces), 1), all(one.finished for one in chosen)))
    return distinct(found)
