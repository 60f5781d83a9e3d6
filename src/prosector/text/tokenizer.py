"""What every tokenizer does: text to ids, ids to text, and both to a file.

A tokenizer never adds `<sos>` or `<eos>`: whoever makes batches does, and `decode` skips them.
The kinds: `pieces.py` (BPE and unigram), `words.py`, `characters.py`; `imported.py` and `marian.py` read those of
other libraries.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

Language = Literal["zh", "en"]
Role = Literal["source", "target", "joint"]


class Tokenizer(ABC):
    """Text to ids and back. Ids 0..3 are `<pad>`, `<unk>`, `<sos>`, `<eos>`."""

    suffix: ClassVar[str]  # of its file: a role and this make the name, `source.spm`
    exact: ClassVar[bool] = True  # whether a model has exactly as many rows; that of another library may have more

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """How many ids there are, the four special ones counted."""

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text, without `<sos>` and `<eos>`."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; special ids are skipped.

        Raises:
            ValueError: an id is not in the vocabulary.
        """

    @abstractmethod
    def piece(self, id: int) -> str:
        """How the vocabulary spells an id; a leading ▁ says that a space comes before."""

    @abstractmethod
    def to_bytes(self) -> bytes:
        """What `save` writes."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The tokenizer that `to_bytes` described."""

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text."""
        return [self.encode(text) for text in texts]

    def pieces(self, text: str) -> list[str]:
        """The text cut up as the model will see it, to show people; what is unknown reads `<unk>`."""
        return [self.piece(id) for id in self.encode(text)]

    def save(self, folder: str | Path, role: Role) -> Path:
        """Write it into a model's folder, as `source`, `target` or `joint` plus the kind's suffix."""
        path = Path(folder) / f"{role}{self.suffix}"
        path.write_bytes(self.to_bytes())
        return path

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            ValueError: the file is not a tokenizer of this kind.
        """
        path = Path(path)
        try:
            return cls.from_bytes(path.read_bytes())
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def __reduce__(self) -> tuple[Any, ...]:  # what a data worker or a copy gets: the bytes, not the C++ object
        return type(self).from_bytes, (self.to_bytes(),)

    def check_ids(self, ids: Sequence[int]) -> None:
        """Raises ValueError at the first id that the vocabulary does not have."""
        for id in ids:
            if not 0 <= id < self.vocab_size:
                raise ValueError(
                    f"id {id} is outside this tokenizer's vocabulary of {self.vocab_size} "
                    f"(ids 0 to {self.vocab_size - 1}): the ids come from another tokenizer"
                )
