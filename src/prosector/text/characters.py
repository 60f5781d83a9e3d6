"""Every character an id of its own: the smallest vocabulary, the longest sequences.

Lossless for every text whose characters the training text had.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

from prosector.text.vocabulary import VocabularyTokenizer, most_frequent


def train_characters(sentences: Iterable[str], *, vocab_size: int, min_count: int = 1) -> "CharacterTokenizer":
    """The most frequent characters, at most `vocab_size` ids with the 4 special ones.

    Raises:
        ValueError: there is no text.
    """
    characters = most_frequent(chain.from_iterable(sentences), vocab_size=vocab_size, min_count=min_count)
    if not characters:
        raise ValueError("there is no text to train a tokenizer on: no character is frequent enough")
    return CharacterTokenizer(characters)


class CharacterTokenizer(VocabularyTokenizer):
    """A character is one Unicode code point; what the list does not have is `<unk>`."""

    kind = "characters"

    def split(self, text: str) -> list[str]:
        return list(text)

    def join(self, parts: Sequence[str]) -> str:
        return "".join(parts)
