"""Another library's tokenizer: a `tokenizer.json`, as most models on the Hugging Face Hub have one.

It is read by the library that it was written for, `tokenizers` (pip install 'prosector[hf]'), and its ids stay as they
are: which of them mean begin, end and padding is in the model's config.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from prosector.text.tokenizer import Role, Tokenizer


class ImportedTokenizer(Tokenizer):
    """Text to ids and back, as a `tokenizer.json` says; it adds no begin and no end.

    Raises:
        ImportError: the library is missing.
        ValueError: the file is none of its tokenizers.
    """

    suffix: ClassVar[str] = "tokenizer.json"
    exact: ClassVar[bool] = False

    def __init__(self, data: bytes) -> None:
        try:
            from tokenizers import Tokenizer as Theirs
        except ImportError as error:
            raise ImportError("tokenizer.json needs `tokenizers`: pip install 'prosector[hf]'") from error
        self._data = data
        try:
            self._theirs = Theirs.from_str(data.decode("utf-8"))
        except Exception as error:  # the library raises nothing narrower
            raise ValueError(f"not a tokenizer.json ({error})") from error
        self._theirs.no_padding()
        self._theirs.no_truncation()
        self._is_of_bytes = '"ByteLevel"' in json.dumps(json.loads(data)["decoder"])
        self.specials = frozenset(self.special_ids())

    @property
    def vocab_size(self) -> int:
        return self._theirs.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> list[int]:
        return list(self._theirs.encode(text, add_special_tokens=False).ids)

    def encode_whole(self, text: str) -> list[int]:
        """The ids with what the library puts before and after a text by itself."""
        return list(self._theirs.encode(text).ids)

    def decode(self, ids: Sequence[int]) -> str:
        self.check_ids(ids)
        return self._theirs.decode([int(id) for id in ids], skip_special_tokens=True)

    def piece(self, id: int) -> str:
        self.check_ids([id])
        found = self._theirs.id_to_token(int(id)) or ""
        return of_bytes(found) if self._is_of_bytes and id not in self.specials else found

    def id_of(self, piece: str) -> int | None:
        """The id of a piece; None if the vocabulary does not have it."""
        found: int | None = self._theirs.token_to_id(piece)
        return found

    def special_ids(self) -> list[int]:
        """The ids that `decode` skips, in order."""
        added = self._theirs.get_added_tokens_decoder()
        return sorted(id for id, token in added.items() if token.special)

    def to_bytes(self) -> bytes:
        return self._data

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(data)

    def save(self, folder: str | Path, role: Role) -> Path:
        """Write it into a model's folder, under the name that other libraries look for."""
        path = Path(folder) / self.suffix
        path.write_bytes(self._data)
        return path


def of_bytes(piece: str) -> str:
    """A piece of bytes as people read it: GPT-2's alphabet has a printable sign for each byte (Radford et al. 2019).

    A space before it is written ▁; bytes that are only part of a character, or of one that shows nothing, stay numbers,
    as in <0xE6>.
    """
    raw = bytes(BYTES[sign] for sign in piece if sign in BYTES)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return "".join(f"<0x{byte:02X}>" for byte in raw)
    text = "▁" + text[1:] if text.startswith(" ") else text
    return "".join(sign if sign.isprintable() else f"<0x{ord(sign):02X}>" for sign in text)


def alphabet() -> dict[str, int]:
    """The byte of each sign: printable ones stand for themselves, the others are counted on from 256."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


BYTES = alphabet()
