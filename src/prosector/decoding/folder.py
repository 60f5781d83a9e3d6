"""A model on disk: a folder with `config.json`, `model.safetensors`, the tokenizers and a `README.md`.

It is written beside its place and moved there whole. Reading one runs no code that it names.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from prosector.config.folder import (
    FOLDERS,
    FORMAT,
    Folder,
    PictureFolder,
    ReaderFolder,
    SegmentingFolder,
    TranslatorFolder,
    WriterFolder,
)
from prosector.config.run import explain
from prosector.models.bert import Bert
from prosector.models.gpt import Gpt
from prosector.models.seq2seq import Seq2Seq
from prosector.models.weights import load_weights, save_weights
from prosector.text import Tokenizer, load_tokenizers, save_tokenizers

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


def read_model(folder: Path) -> tuple[TranslatorFolder, Seq2Seq, Tokenizer, Tokenizer]:
    """A translator: its config, the model in float32 and in evaluation, and the source's and target's tokenizer.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, the files do not fit each other, or it is a model of another kind.
    """
    config = read_as(folder, TranslatorFolder, "translate")
    source, target = read_tokenizers(folder, config)
    return config, with_weights(folder, config.model), source, target


def read_tokenizers(folder: Path, config: TranslatorFolder) -> tuple[Tokenizer, Tokenizer]:
    """The source's and the target's tokenizer of a translator; raises as `read_model` does."""
    source, target = load_tokenizers(folder)
    require_size(folder, "source's", source, config.model.source_vocab)
    require_size(folder, "target's", target, config.model.target_vocab)
    return source, target


def read_writer(folder: Path) -> tuple[WriterFolder, Gpt, Tokenizer]:
    """A model that only writes, with its tokenizer; raises as `read_model` does."""
    config = read_as(folder, WriterFolder, "write texts")
    return config, with_weights(folder, config.model), only_tokenizer(folder, config.model.vocab)


def read_reader(folder: Path) -> tuple[ReaderFolder, Bert, Tokenizer]:
    """A model that reads, with its tokenizer; raises as `read_model` does."""
    config = read_as(folder, ReaderFolder, "fill gaps")
    return config, with_weights(folder, config.model), only_tokenizer(folder, config.model.vocab)


def read_picture_model(folder: Path) -> tuple[PictureFolder, nn.Module]:
    """A model that classes pictures; raises as `read_model` does."""
    config = read_as(folder, PictureFolder, "class pictures")
    return config, with_weights(folder, config.model)


def read_segmenter(folder: Path) -> tuple[SegmentingFolder, nn.Module]:
    """A model that classes every place of a picture; raises as `read_model` does."""
    config = read_as(folder, SegmentingFolder, "class places")
    return config, with_weights(folder, config.model)


def only_tokenizer(folder: Path, vocab: int) -> Tokenizer:
    """The one tokenizer of a model that has one."""
    tokenizer, _ = load_tokenizers(folder)
    require_size(folder, "its", tokenizer, vocab)
    return tokenizer


def require_size(folder: Path, whose: str, tokenizer: Tokenizer, expected: int) -> None:
    """Raises ValueError if a tokenizer is not the model's."""
    if tokenizer.vocab_size > expected or (tokenizer.exact and tokenizer.vocab_size != expected):
        raise ValueError(f"{folder}: the {whose} tokenizer has {tokenizer.vocab_size} entries and the model {expected}")


def with_weights(folder: Path, config: Any) -> Any:
    """The model of a config in evaluation, with the folder's weights.

    Raises:
        FileNotFoundError: there are none.
        ValueError: they are damaged, of another model, or not numbers.
    """
    path = folder / "model.safetensors"
    if not path.is_file():
        exported = "; it was written for --engine ctranslate2" if (folder / "ctranslate2").is_dir() else ""
        raise FileNotFoundError(f"{folder} has no model.safetensors{exported}")
    try:
        weights = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged or not a safetensors file ({error})") from error
    if broken := [name for name, value in weights.items() if not value.isfinite().all()]:
        raise ValueError(f"{path}: {broken[0]} holds values that are no numbers; train the model anew")
    with torch.random.fork_rng(devices=[]):  # the fresh weights that are overwritten cost the caller no random number
        model = config.build().eval()
    load_weights(model, weights, str(path))
    return model


def write_model(
    folder: Path,
    config: Folder,
    model: nn.Module,
    tokenizers: Sequence[Tokenizer],
    readme: str,
    dtype: torch.dtype = torch.float32,
) -> None:
    """Write a model's folder, whole or, on an error, not at all; what else lies in the folder stays."""
    folder.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=".new-", dir=folder))
    before = Path(tempfile.mkdtemp(prefix=".old-", dir=folder))
    try:
        save_weights(model, beside / "model.safetensors", dtype)
        save_tokenizers(beside, *tokenizers)
        (beside / "README.md").write_text(readme, encoding="utf-8")
        text = json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (beside / "config.json").write_text(text + "\n", encoding="utf-8")
        exchange(folder, beside, before)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)


def exchange(folder: Path, beside: Path, before: Path) -> None:
    """Move the files of `beside` into the folder, and what they replace out of it; or, on an error, all back.

    A folder without config.json is no model: so it goes first and comes last, and a kill in between leaves no mixture.
    """
    names = sorted((file.name for file in beside.iterdir()), key=lambda name: name == "config.json")
    replaced = [name for name in reversed(names) if (folder / name).exists()]
    arrived = []
    try:
        for name in replaced:
            os.replace(folder / name, before / name)
        for name in names:
            os.replace(beside / name, folder / name)
            arrived.append(name)
    except BaseException:
        for name in arrived:
            os.replace(folder / name, beside / name)
        for name in sorted((file.name for file in before.iterdir()), key=lambda name: name == "config.json"):
            os.replace(before / name, folder / name)
        raise
