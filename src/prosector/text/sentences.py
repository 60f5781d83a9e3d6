"""Long text cut at the ends of its sentences, Chinese and English, and nothing lost.

A wrong cut costs more than a missing one: a translator that sees half a sentence translates it
badly, two sentences at once do no harm. So where it is unclear (U.S., J. Smith, ...) nothing is cut.
"""

import re

from prosector.text.chinese import HAN

# A run of signs that may end a sentence, the quotes and brackets that close after it, the space after those.
_MARK = re.compile(r"(?P<run>[.!?…。！？｡]+)(?P<closing>[\"'”’」』）)】》\]]*)(?P<space>[^\S\n]*\n*)|\n+")
_ELLIPSIS = re.compile(r"\.{2,}|…+|。{2,}")

# Abbreviations after which a sentence goes on ...
_GOES_ON = re.compile(
    "Mr|Mrs|Ms|Dr|Prof|St|Mt|Jr|Sr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Sen|Rep|Gov|vs|etc|cf|al|approx|ca|Inc|Ltd|Co|Corp"
    "|Jan|Feb|Apr|Aug|Sept|Oct|Nov|Dec"
)
# ... and those that are words too, unless a number follows: "No. 5", but "No. I will not."
_BEFORE_NUMBER = re.compile("[Nn]os?|[Ff]igs?|[Ee]qs?|[Vv]ol|[Cc]h|[Ss]ec|[Aa]rt|pp?|Mar|Jun|Jul|Sep")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]+$")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, each with the space after it, so that joined they are the text again.

    A sentence ends at 。！？ and at . ! ? before a space, with the quotes and brackets that close
    after them, and at the end of a line; not at an ellipsis, in a number (3.5), after an
    abbreviation or initial (Mr., U.S., e.g.), nor where a small letter follows ("Why?" he asked).
    """
    sentences: list[str] = []
    start = counted = 0
    in_quotes = False
    for match in _MARK.finditer(text):
        in_quotes ^= text.count('"', counted, match.start()) % 2 == 1
        counted = match.start()
        end = _end(text, start, match, in_quotes)
        if end is not None and text[start:end].strip():
            sentences.append(text[start:end])
            start = end
        if "\n" in match[0]:  # a quote that nobody closed spoils its own line only
            in_quotes, counted = False, match.end()
    if start < len(text):
        sentences.append(text[start:])
    return sentences


def _end(text: str, start: int, match: re.Match[str], in_quotes: bool) -> int | None:
    """Where the sentence that began at `start` ends, if it does at this mark."""
    if "\n" in match[0]:
        return match.end()
    marks = _ELLIPSIS.sub("", match["run"])
    if not marks:
        return None
    # A straight quote closes what was opened, else it opens: 他走了。"为什么？"
    closing = match["closing"] if in_quotes else match["closing"].partition('"')[0]
    end = match.end() if closing == match["closing"] else match.end("run") + len(closing)

    if marks[-1] in "。！？｡":
        return end
    following = text[end : end + 1]
    if following.islower():
        return None
    spaced = end == len(text) or text[end - 1].isspace()
    if marks != ".":
        return end if spaced or re.match(f"[{HAN}]", following) else None
    return end if spaced and not _abbreviated(text[start : match.start()], following) else None


def _abbreviated(before: str, following: str) -> bool:
    """Whether the full stop after `before` belongs to its last word: Mr. J. Smith, U.S., p. 5, a list's 1."""
    if before.strip().isdigit():
        return True
    found = _LAST_WORD.search(before[-20:])  # no abbreviation is longer
    if found is None:
        return False
    word = found[0]
    return (
        "." in word
        or (len(word) == 1 and word != "I")
        or _GOES_ON.fullmatch(word) is not None
        or (following.isdigit() and _BEFORE_NUMBER.fullmatch(word) is not None)
    )
