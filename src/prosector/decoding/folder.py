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
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from prosector.config.folder import (
    Folder,
    PictureFolder,
    ReaderFolder,
    SegmentingFolder,
    TranslatorFolder,
    WriterFolder,
)
from prosector.decoding.folder_config import read_as, read_tokenizers, require_size, require_weights
from prosector.models.bert import Bert
from prosector.models.gpt import Gpt
from prosector.models.seq2seq import Seq2Seq
from prosector.models.weights import load_weights, save_weights
from prosector.text import Tokenizer, load_tokenizers, save_tokenizers


def read_model(folder: Path) -> tuple[TranslatorFolder, Seq2Seq, Tokenizer, Tokenizer]:
    """A translator: its config, the model in float32 and in evaluation, and the source's and target's tokenizer.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, the files do not fit each other, or it is a model of another kind.
    """
    config = read_as(folder, TranslatorFolder, "translate")
    source, target = read_tokenizers(folder, config)
    return config, with_weights(folder, config.model), source, target


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


def with_weights(folder: Path, config: Any) -> Any:
    """The model of a config in evaluation, with the folder's weights.

    Raises:
        FileNotFoundError: there are none.
        ValueError: they are damaged, of another model, or not numbers.
    """
    path = require_weights(folder)
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
