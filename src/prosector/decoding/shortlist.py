"""A vocabulary shortlist: of all words only those that can translate the words of the sentence get a logit.

The output layer maps to thousands of words, of which a sentence's translation has a dozen. From the alignments of the
training data each source word has a list of its likeliest translations; a sentence's shortlist is the union of its
words' lists and of the commonest words. What is not on it cannot be written: faster, and now and then another word
(Devlin 2017, "Sharp models on dull hardware", section 2.2; Schwenk et al. 2007).

It lies in a model's folder as `shortlist.safetensors`; the native core alone uses it, where `shortlist=True` asks for
it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from prosector.config.special import SpecialIds
from prosector.data.alignment import Pair, align
from prosector.text import Tokenizer

NAME = "shortlist.safetensors"
EACH, COMMON = 100, 200  # translations of each word at most, and words that always count


class Shortlist(NamedTuple):
    """The words that may translate each word, one list behind the other.

    Attributes:
        start: where each source word's list begins, and the end of the last.
        words: all lists.
        always: ids that count whatever the source.
    """

    start: list[int]
    words: list[int]
    always: list[int]

    def of(self, ids: Sequence[int]) -> list[int]:
        """The ids that may translate a source, ascending."""
        found = set(self.always)
        for id in ids:
            found.update(self.words[self.start[id] : self.start[id + 1]])
        return sorted(found)


NOTHING = Shortlist([], [], [])


def shortlist_from(
    pairs: Sequence[Pair],
    source: Tokenizer,
    target: Tokenizer,
    special: SpecialIds,
    each: int = EACH,
    common: int = COMMON,
) -> Shortlist:
    """The shortlist that sentence pairs give.

    Beside the likeliest translations, a word's list has the piece that is spelled as it is, so that names and numbers
    can be copied. Ends, single bytes, of which whatever is rare consists, and the commonest words always count.

    Args:
        pairs: ids of each source and of its target, both without ends.
        source: the source's tokenizer.
        target: the target's.
        special: the ids that are no text.
        each: translations of a word at most.
        common: how many of the commonest words always count.

    Raises:
        ValueError: no pair has words on both sides.
    """
    lexicon = align(pairs, source.vocab_size, target.vocab_size)
    spelled = {target.piece(id): id for id in range(target.vocab_size)}
    lists = []
    for id in range(source.vocab_size):
        likely = [word for word, _ in lexicon.of(id)[:each]]
        lists.append(sorted({*likely, *([spelled[piece]] if (piece := source.piece(id)) in spelled else [])}))
    counts = Counter(id for _, ids in pairs for id in ids)
    bytes_ = [id for piece, id in spelled.items() if len(piece) == 6 and piece.startswith("<0x")]
    always = {*special.ends, *bytes_, *(id for id, _ in counts.most_common(common))} - {*special.unwritten}
    start = np.cumsum([0, *map(len, lists)]).tolist()
    return Shortlist(start, [id for some in lists for id in some], sorted(always))


def write_shortlist(folder: Path, shortlist: Shortlist) -> Path:
    """Put it into a model's folder."""
    path = folder / NAME
    ids = np.uint16 if max(shortlist.words + shortlist.always, default=0) < 2**16 else np.int32
    types = {"start": np.int32, "words": ids, "always": ids}
    path.write_bytes(save({name: np.array(getattr(shortlist, name), kind) for name, kind in types.items()}))
    return path


def read_shortlist(folder: Path) -> Shortlist:
    """That of a model's folder; empty if it has none.

    Raises:
        ValueError: the file is damaged.
    """
    path = folder / NAME
    if not path.is_file():
        return NOTHING
    try:
        found = load_file(path)
        return Shortlist(*(found[name].tolist() for name in Shortlist._fields))
    except (SafetensorError, KeyError) as error:
        raise ValueError(
            f"{path}: damaged or not a shortlist ({error}); prosector shortlist makes a new one"
        ) from error
