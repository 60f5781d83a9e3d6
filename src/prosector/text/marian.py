"""Marian's pair of tokenizers: SentencePiece cuts a text up, and a table of its own says which id a piece has.

A folder has `source.spm`, `target.spm` and one `vocab.json` for both, or one for the source and a `target_vocab.json`.
A piece that the table lacks is unknown.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import sentencepiece

from prosector.text.tokenizer import Role, Tokenizer

TABLE, TARGET_TABLE = "vocab.json", "target_vocab.json"
END, UNK, PAD = "</s>", "<unk>", "<pad>"
SPECIAL = (END, UNK, PAD)


class MarianTokenizer(Tokenizer):
    """One side of a pair.

    Args:
        model: a SentencePiece model, as bytes.
        table: the id of each piece.
        table_name: the file that holds it.

    Raises:
        ValueError: it is no SentencePiece model, or the table lacks the special pieces, or an id is there twice.
    """

    suffix: ClassVar[str] = ".spm"
    exact: ClassVar[bool] = False

    def __init__(self, model: bytes, table: Mapping[str, int], table_name: str = TABLE) -> None:
        self._model, self._table, self.table_name = model, dict(table), table_name
        try:
            if not model:
                raise RuntimeError("nothing in it")
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"not a SentencePiece model ({len(model)} bytes)") from error
        if missing := [piece for piece in SPECIAL if piece not in self._table]:
            raise ValueError(f"{table_name} lacks {', '.join(missing)}")
        self._pieces = {id: piece for piece, id in self._table.items()}
        if len(self._pieces) != len(self._table) or min(self._pieces) < 0:
            raise ValueError(f"{table_name} gives two pieces one id, or a piece an id below 0")

    @property
    def vocab_size(self) -> int:
        return max(self._pieces) + 1

    def encode(self, text: str) -> list[int]:
        code, text = language_code(text)
        unknown = self._table[UNK]
        return [self._table.get(piece, unknown) for piece in [*code, *self._processor.encode(text, out_type=str)]]

    def decode(self, ids: Sequence[int]) -> str:
        self.check_ids(ids)
        pieces = [self.piece(int(id)) for id in ids]
        text: str = self._processor.decode_pieces([piece for piece in pieces if piece not in SPECIAL])
        return text.replace("▁", " ").strip()

    def piece(self, id: int) -> str:
        self.check_ids([id])
        return self._pieces.get(int(id), UNK)

    def to_bytes(self) -> bytes:
        document = {
            "kind": "marian",
            "model": base64.b64encode(self._model).decode(),
            "table": self._table,
            "table_name": self.table_name,
        }
        return json.dumps(document, ensure_ascii=False).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        document: dict[str, Any] = json.loads(data)
        return cls(base64.b64decode(document["model"]), document["table"], document["table_name"])

    def save(self, folder: str | Path, role: Role) -> Path:
        """Write it as Marian's own folders have it: the model by its role, and its table."""
        path = Path(folder) / f"{role}{self.suffix}"
        path.write_bytes(self._model)
        (Path(folder) / self.table_name).write_text(
            json.dumps(self._table, ensure_ascii=False, indent=2) + "\n", "utf-8"
        )
        return path


def language_code(text: str) -> tuple[list[str], str]:
    """A text that begins with >>xxx<<, which tells a model of many languages its target, is cut after that."""
    end = text.find("<<")
    return ([text[: end + 2]], text[end + 2 :]) if text.startswith(">>") and end > 0 else ([], text)


def load_pair(folder: Path) -> tuple[MarianTokenizer, MarianTokenizer]:
    """The source's and the target's tokenizer of a folder.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged.
    """
    of_target = TARGET_TABLE if (folder / TARGET_TABLE).is_file() else TABLE
    return load_side(folder, "source", TABLE), load_side(folder, "target", of_target)


def load_side(folder: Path, role: Role, table_name: str) -> MarianTokenizer:
    """One of the two; raises as `load_pair` does."""
    path = folder / table_name
    try:
        table = json.loads(path.read_text("utf-8"))
        if not isinstance(table, dict) or not all(isinstance(id, int) for id in table.values()):
            raise ValueError("it is not a table of pieces and ids")
        return MarianTokenizer((folder / f"{role}.spm").read_bytes(), table, table_name)
    except (ValueError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from error
