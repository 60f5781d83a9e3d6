"""4,354 graded Chinese sentences with their English, from the PyPI package `hsk-sentences-audio` (data: CC-BY-SA 4.0).

Cleaned, and split so that no sentence of one part, on either side, is in another. The split is a
function of the sentences alone: everybody's test sentences are the same.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

PLACEHOLDER = re.compile(r"(placeholder|PH)\b")  # stands where a translation was still to come


class Graded(NamedTuple):
    """A sentence in both languages, and its level in the Chinese proficiency test, 1 to 6."""

    english: str
    chinese: str
    level: int


class Split(NamedTuple):
    """What to train on, to choose on, and to be judged on."""

    train: list[Graded]
    dev: list[Graded]
    test: list[Graded]


def read_hsk() -> list[Graded]:
    """The package's sentences, each Chinese sentence once, without those that nobody translated.

    Raises:
        ImportError: the package is not installed.
    """
    try:
        package = importlib.resources.files("hsk_sentences_audio")
    except ModuleNotFoundError as error:
        raise ImportError("the graded sentences need hsk-sentences-audio: pip install 'prosector[demo]'") from error
    rows = json.loads((package / "data" / "sentences.json").read_text(encoding="utf-8"))
    return clean(
        Graded(" ".join(row["translation"]["en"].split()), " ".join(row["chinese"].split()), row["hsk_level"])
        for row in rows
    )


def clean(sentences: Iterable[Graded]) -> list[Graded]:
    """Drop placeholders, empty sides, and what repeats a Chinese sentence."""
    kept: dict[str, Graded] = {}
    for sentence in sentences:
        if sentence.chinese and sentence.english and not PLACEHOLDER.match(sentence.english):
            kept.setdefault(essence(sentence.chinese), sentence)
    return list(kept.values())


def essence(text: str) -> str:
    """Letters and numbers alone, small: what makes two sentences the same."""
    return "".join(filter(str.isalnum, text.casefold()))


def split(sentences: Sequence[Graded], dev: int = 200, test: int = 200) -> Split:
    """Test and development sentences, drawn by the hash of their Chinese, and the rest.

    Of the rest, what shares its English or its Chinese with a drawn sentence is dropped.
    """

    def drawn(sentence: Graded) -> str:
        return hashlib.sha256(sentence.chinese.encode()).hexdigest()

    order = sorted(sentences, key=drawn)
    judged = order[:test]
    rest = without(order[test:], judged)
    chosen = rest[:dev]
    return Split(without(rest[dev:], chosen), chosen, judged)


def without(sentences: Iterable[Graded], others: Iterable[Graded]) -> list[Graded]:
    """The sentences that share neither side with the others."""
    taken = {essence(side) for other in others for side in (other.english, other.chinese)}
    return [s for s in sentences if essence(s.english) not in taken and essence(s.chinese) not in taken]


def write_tsv(path: Path, sentences: Iterable[Graded]) -> None:
    """English, Chinese and level, a tab between."""
    lines = (f"{sentence.english}\t{sentence.chinese}\thsk{sentence.level}\n" for sentence in sentences)
    path.write_text("".join(lines), encoding="utf-8")
