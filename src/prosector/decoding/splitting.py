"""Long text cut into pieces that a model can read, and nothing lost: joined they are the text again.

First at the ends of sentences; a sentence that is still too long in two near its middle, and again,
until every piece fits: after a comma or the like, else at a space, else beside a Chinese character,
else anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from prosector.text import split_sentences
from prosector.text.chinese import HAN

_LINE = re.compile(r"(\r\n|\n|\r)")
_CLOSES = "，。！？；：、”’」』）》"  # no piece begins with one of these,
_OPENS = "“‘「『（《"  # and none ends with one of these
_PLACES = [  # where to cut, the best first: at the end of what matches
    re.compile(rf"[，；：、](?![{_CLOSES}])\s*|[，；：、][{_CLOSES}]+\s*|[,;:]\s+"),
    re.compile(r"\s+"),
    re.compile(rf"(?<=[{HAN}{_CLOSES}])(?![{_CLOSES}])|(?<![{_OPENS}])(?=[{HAN}])"),
]


def split_lines(text: str) -> list[tuple[str, str]]:
    """The lines of a text, each with the line break that ends it, "" for the last one's."""
    parts = [*_LINE.split(text), ""]
    return list(zip(parts[::2], parts[1::2], strict=True))


def split_to_fit(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text in pieces that fit, in order; a single character is a piece even if it does not fit."""
    if fits(text):
        return [text]
    return [piece for sentence in split_sentences(text) for piece in halve(sentence, fits)]


def halve(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text cut in two near its middle, and each half again, until every piece fits."""
    if len(text) <= 1 or fits(text):
        return [text]
    middle = place_to_cut(text)
    return halve(text[:middle], fits) + halve(text[middle:], fits)


def place_to_cut(text: str) -> int:
    """The place nearest to the middle where a cut does the least harm, neither the beginning nor the end."""
    half = len(text) / 2
    for kind in _PLACES:
        if places := [end for match in kind.finditer(text) if 0 < (end := match.end()) < len(text)]:
            return min(places, key=lambda place: abs(place - half))
    return len(text) // 2
