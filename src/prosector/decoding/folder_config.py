"""What a model's folder says of itself: its config and its tokenizers. Reading them takes no PyTorch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from prosector.config.folder import FOLDERS, FORMAT, Folder, TranslatorFolder
from prosector.config.run import explain
from prosector.text import Tokenizer, load_tokenizers

F = TypeVar("F", bound=Folder)


def read_config(folder: Path) -> Folder:
    """The config of a model's folder, of whatever kind.

    Raises:
        FileNotFoundError: it is no model's folder.
        ValueError: its config cannot be read, or not by this version.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not a model: it has no config.json")
    try:
        tree: Any = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    tree = tree if isinstance(tree, dict) else {}
    if "model_type" in tree and "format" not in tree:
        raise ValueError(f"{folder} is a Hugging Face model: prosector import {folder} --out DIR makes it one of ours")
    if tree.get("format", FORMAT) != FORMAT:
        raise ValueError(f"{path}: format {tree['format']!r}, this version reads {FORMAT}; update Prosector")
    kind = tree.get("kind", "transformer")
    if kind not in FOLDERS:
        raise ValueError(f"{path}: kind {kind!r}, this version knows {', '.join(FOLDERS)}; update Prosector")
    try:
        return FOLDERS[kind].model_validate(tree)
    except ValidationError as error:
        raise ValueError(explain(error, str(path))) from error


def read_as(folder: Path, family: type[F], can: str) -> F:
    """The config of a model that can do something.

    Raises:
        FileNotFoundError, ValueError: as for `read_config`, or it is a model of another family.
    """
    config = read_config(folder)
    if not isinstance(config, family):
        raise ValueError(f"{folder} cannot {can}: it is of the kind {config.kind}")
    return config


def read_tokenizers(folder: Path, config: TranslatorFolder) -> tuple[Tokenizer, Tokenizer]:
    """The source's and the target's tokenizer of a translator; raises as `read_model` does."""
    source, target = load_tokenizers(folder)
    require_size(folder, "source's", source, config.model.source_vocab)
    require_size(folder, "target's", target, config.model.target_vocab)
    return source, target


def require_size(folder: Path, whose: str, tokenizer: Tokenizer, expected: int) -> None:
    """Raises ValueError if a tokenizer is not the model's."""
    if tokenizer.vocab_size > expected or (tokenizer.exact and tokenizer.vocab_size != expected):
        raise ValueError(f"{folder}: the {whose} tokenizer has {tokenizer.vocab_size} entries and the model {expected}")


def require_weights(folder: Path) -> Path:
    """The file with a model's weights.

    Raises:
        FileNotFoundError: there is none.
    """
    path = folder / "model.safetensors"
    if not path.is_file():
        exported = "; it was written for --engine ctranslate2" if (folder / "ctranslate2").is_dir() else ""
        raise FileNotFoundError(f"{folder} has no model.safetensors{exported}")
    return path
