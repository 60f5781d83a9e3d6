"""A tokenizer whose vocabulary is a list: what words and characters have in common.

It cuts the text up, looks each part up in the list, and what is not there is `<unk>`. So it is
lossless exactly as long as nothing is unknown.
"""

import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Self

from prosector.text.special import N_SPECIAL, SPECIAL_PIECES, UNK
from prosector.text.tokenizer import Tokenizer


def most_frequent(parts: Iterable[str], *, vocab_size: int, min_count: int = 1) -> list[str]:
    """The parts that a vocabulary of `vocab_size` ids has room for: the most frequent ones first.

    Equally frequent parts stand in the order of the alphabet, so the same text gives the same list.
    """
    counts = Counter(parts)
    kept = sorted((part for part in counts if counts[part] >= min_count), key=lambda part: (-counts[part], part))
    return kept[: max(0, vocab_size - N_SPECIAL)]


class VocabularyTokenizer(Tokenizer):
    """Looks the parts of a text up in a list. `vocabulary` is without the four special pieces."""

    suffix = ".vocab.json"
    kind: ClassVar[str]

    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._parts = list(vocabulary)
        self._id_of = {part: id for id, part in enumerate(self._parts, start=N_SPECIAL)}
        if len(self._id_of) != len(self._parts):
            twice = next(part for part, count in Counter(self._parts).items() if count > 1)
            raise ValueError(f"the vocabulary names {twice!r} twice")

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """The parts that are looked up."""

    @abstractmethod
    def join(self, parts: Sequence[str]) -> str:
        """The text that `split` cut up."""

    @property
    def vocab_size(self) -> int:
        return N_SPECIAL + len(self._parts)

    def encode(self, text: str) -> list[int]:
        return [self._id_of.get(part, UNK) for part in self.split(text)]

    def decode(self, ids: Sequence[int]) -> str:
        self.check_ids(ids)
        return self.join([self._parts[id - N_SPECIAL] for id in ids if id >= N_SPECIAL])

    def piece(self, id: int) -> str:
        self.check_ids([id])
        return SPECIAL_PIECES[id] if id < N_SPECIAL else self._parts[id - N_SPECIAL]

    def settings(self) -> dict[str, Any]:
        """What `__init__` needs besides the vocabulary; it is written into the file."""
        return {}

    def to_bytes(self) -> bytes:
        document = {"kind": self.kind, **self.settings(), "vocabulary": [*SPECIAL_PIECES, *self._parts]}
        return (json.dumps(document, ensure_ascii=False, indent=0) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        try:
            document = json.loads(data)
            kind, vocabulary = document.pop("kind"), document.pop("vocabulary")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"not a vocabulary: a JSON object with `kind` and `vocabulary` is wanted ({error})"
            ) from error
        if kind != cls.kind:
            raise ValueError(f"a vocabulary of {kind!r}, where {cls.kind!r} was wanted")
        if not isinstance(vocabulary, list) or not all(isinstance(part, str) for part in vocabulary):
            raise ValueError("`vocabulary` must be a list of strings")
        if (found := tuple(vocabulary[:N_SPECIAL])) != SPECIAL_PIECES:
            raise ValueError(f"a vocabulary begins with {' '.join(SPECIAL_PIECES)}, this one with {' '.join(found)}")
        try:
            return cls(vocabulary[N_SPECIAL:], **document)
        except TypeError as error:
            raise ValueError(f"not a vocabulary of {kind}: {error}") from error
