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
from typing import Any, Literal, Self

import torch
from pydantic import Field, ValidationError, model_validator
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from prosector.config.base import Config
from prosector.config.data import Language
from prosector.config.model import TranslatorConfig
from prosector.config.run import explain
from prosector.models.seq2seq import Seq2Seq
from prosector.models.weights import load_weights, save_weights
from prosector.text import Tokenizer, load_tokenizers, save_tokenizers

FORMAT = 1


class FolderConfig(Config):
    """What `config.json` holds."""

    format: Literal[1] = Field(1, description="the version of this layout")
    kind: Literal["transformer", "rnn", "rnn-attention"] = Field("transformer", description="the architecture")
    source: Language = Field(description="the language it reads")
    target: Language = Field(description="the language it writes")
    source_eos: bool = Field(True, description="whether the source ends with <eos>")
    max_tokens: int = Field(128, description="the longest side, in tokens, that it was trained on")
    model: TranslatorConfig = Field(description="the model's config")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.kind != self.model.kind:
            raise ValueError(f"kind is {self.kind!r} and model.kind {self.model.kind!r}; they must be the same")
        return self


def read_config(folder: Path) -> FolderConfig:
    """The config of a model's folder.

    Raises:
        FileNotFoundError: it is no model's folder.
        ValueError: its config cannot be read, or not by this version.
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is not a model: it has no config.json")
    try:
        tree: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(tree, dict) and tree.get("format", FORMAT) != FORMAT:
            raise ValueError(f"{path}: format {tree['format']!r}, this version reads {FORMAT}; update Prosector")
        return FolderConfig.model_validate(tree)
    except ValidationError as error:
        raise ValueError(explain(error, str(path))) from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not JSON ({error})") from error


def read_model(folder: Path) -> tuple[FolderConfig, Seq2Seq, Tokenizer, Tokenizer]:
    """The config, the model in float32 and in evaluation, and the source's and target's tokenizer.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or the files do not fit each other.
    """
    config = read_config(folder)
    source, target = load_tokenizers(folder)
    for side, tokenizer, expected in (
        ("source", source, config.model.source_vocab),
        ("target", target, config.model.target_vocab),
    ):
        if tokenizer.vocab_size != expected:
            raise ValueError(
                f"{folder}: the {side}'s tokenizer has {tokenizer.vocab_size} entries and the model {expected}"
            )
    path = folder / "model.safetensors"
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no model.safetensors")
    try:
        weights = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged or not a safetensors file ({error})") from error
    with torch.random.fork_rng(devices=[]):  # the fresh weights that are overwritten cost the caller no random number
        model = config.model.build()
    load_weights(model, weights, str(path))
    return config, model.eval(), source, target


def write_model(
    folder: Path,
    config: FolderConfig,
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
    try:
        for name in replaced:
            os.replace(folder / name, before / name)
        for name in names:
            os.replace(beside / name, folder / name)
    except BaseException:
        for name in sorted((file.name for file in before.iterdir()), key=lambda name: name == "config.json"):
            os.replace(before / name, folder / name)
        raise
