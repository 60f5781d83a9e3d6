"""A whole training run, described: what a preset's TOML file holds."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import Field, ValidationError, model_validator

from prosector.config.base import Config
from prosector.config.data import DataConfig
from prosector.config.model import TranslatorConfig, require_room
from prosector.config.pictures import PictureRunConfig
from prosector.config.reading import LabellingConfig, ReadingConfig
from prosector.config.segmenting import SegmentingRunConfig
from prosector.config.text import TokenizerConfig
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.config.writing import WritingConfig


class RunConfig(Config):
    """The model, its tokenizers, its data, and how it is trained."""

    description: str = Field("", description="one line that says what this is for")
    model: TranslatorConfig = Field(TransformerConfig(), description="the architecture")
    tokenizer: TokenizerConfig = Field(TokenizerConfig(), description="how text becomes ids")
    data: DataConfig = Field(DataConfig(), description="the sentence pairs")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        require_room(self.model, self.data.max_tokens)
        if self.model.tie == "all" and not self.tokenizer.joint:
            raise ValueError(
                'model.tie="all" makes one table of both languages\' tokens; it needs tokenizer.joint=true'
            )
        return self


AnyRun = RunConfig | WritingConfig | ReadingConfig | LabellingConfig | PictureRunConfig | SegmentingRunConfig
RUNS: dict[str, type[AnyRun]] = {  # by the model's kind; every other is a translator's
    "gpt": WritingConfig,
    "bert": ReadingConfig,
    "unet": SegmentingRunConfig,
    "attention-unet": SegmentingRunConfig,
    "vit": PictureRunConfig,
    "conv-transformer": PictureRunConfig,
}


def run_class(tree: Any) -> type[AnyRun]:
    """The class of run that a file describes."""
    model = tree.get("model") if isinstance(tree, dict) else None
    kind = model.get("kind") if isinstance(model, dict) else None
    if kind == "bert" and isinstance(tree.get("data"), dict) and "labels" in tree["data"]:
        return LabellingConfig
    return RUNS.get(str(kind), RunConfig)


def explain(error: ValidationError, where: str) -> str:
    """A validation error as one line a mistake: the key, what is wrong, and the value."""
    mistakes = []
    for detail in error.errors():
        key = ".".join(written_keys(detail["loc"])) or "the file"
        if detail["type"] == "extra_forbidden":
            mistakes.append(f"{key} is not a key that is known here")
        else:
            message = detail["msg"].removeprefix("Value error, ")
            value = "" if detail["type"] == "value_error" else f" (it is {detail['input']!r})"
            mistakes.append(f"{key}: {message}{value}")
    return f"{where}: " + "; ".join(mistakes)


def written_keys(place: Sequence[int | str]) -> list[str]:
    """The keys of a place as a file has them: without the kinds that pydantic puts after a choice of several."""
    before = (None, *place)
    return [str(key) for key, last in zip(place, before, strict=False) if last not in ("model", "position")]


def assign(tree: dict[str, Any], assignment: str) -> None:
    """Put one `key.of.a.field=value` into a tree; the value is read as TOML, or as text if it is none.

    Raises:
        ValueError: there is no "=", or the key goes through something that is no table.
    """
    key, equals, text = assignment.partition("=")
    if not equals:
        raise ValueError(f"--set {assignment!r}: write key=value, such as training.steps=2000")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text
    *path, last = key.strip().split(".")
    for name in path:
        tree = tree.setdefault(name, {})
        if not isinstance(tree, dict):
            raise ValueError(f"--set {assignment!r}: {name} is a value, not a table of keys")
    tree[last] = value


def read_run(path: Path, assignments: Sequence[str] = ()) -> AnyRun:
    """A run from a TOML file, with some keys set otherwise.

    Raises:
        ValueError: the file is not TOML, or holds an unknown key or an impossible value; all are named.
    """
    try:
        tree = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not a TOML file ({error})") from error
    return run_from(tree, assignments, f"{path} with --set" if assignments else str(path))


def run_from(tree: dict[str, Any], assignments: Sequence[str], where: str) -> AnyRun:
    """A run from what a TOML file holds, with some keys set otherwise.

    Raises:
        ValueError: an unknown key or an impossible value; all are named, after `where`.
    """
    for assignment in assignments:
        assign(tree, assignment)
    try:
        return run_class(tree).model_validate(tree)
    except ValidationError as error:
        raise ValueError(explain(error, where)) from error
