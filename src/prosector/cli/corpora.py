"""Data as the command line names them: sentence pairs, FILE or SOURCE,TARGET; texts, FILE or FILE:COLUMN."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prosector.config.data import FileConfig
    from prosector.config.run import AnyRun
    from prosector.config.texts import TextFileConfig


def recipe_with(
    recipe: Path, data: Sequence[str], dev: Sequence[str], columns: str, settings: Sequence[str], start: Path | None
) -> AnyRun:
    """A recipe with the files, settings and starting model of the command line.

    With --data, the recipe's own files are all left out.
    """
    from prosector.config.pictures import PictureRunConfig
    from prosector.config.reading import LabellingConfig, ReadingConfig
    from prosector.config.run import RunConfig, read_run
    from prosector.config.segmenting import SegmentingRunConfig

    given = [*direction_of(start, recipe), *settings]
    run = read_run(recipe, given)
    if isinstance(run, PictureRunConfig | SegmentingRunConfig):
        if len(data) > 1 or dev:
            raise ValueError("--data names one set of pictures; its own are kept for choosing: leave out --dev")
        return read_run(recipe, [*(f"data.source={as_toml(name)}" for name in data), *settings])
    if isinstance(run, LabellingConfig):
        if dev:
            raise ValueError("lines of each label are kept for choosing: leave out --dev")
        labels = dict(labelled(name) for name in data) or run.data.labels
        tables = {name: file.model_dump(exclude_none=True) for name, file in labels.items()}
        written = ", ".join(f"{as_toml(name)} = {table_of(file)}" for name, file in tables.items())
        return read_run(recipe, [f"data.labels = {{ {written} }}", *settings])
    named: Callable[[str], Any] = text
    if isinstance(run, RunConfig | ReadingConfig):
        languages = (run.data.source, run.data.target)
        named = lambda file: corpus(file, columns, languages)  # noqa: E731
    files = [assignment("data.train", map(named, data))] * bool(data)
    files += [assignment("data.dev", map(named, dev))] * bool(data or dev)
    return read_run(recipe, [*direction_of(start, recipe), *files, *settings])


def assignment(key: str, files: Any) -> str:
    """Files as an assignment to a recipe."""
    tables = (table_of(file.model_dump(mode="json", exclude_none=True)) for file in files)
    return f"{key} = [{', '.join(tables)}]"


def table_of(values: dict[str, Any]) -> str:
    """A table as TOML writes it in a line."""
    return "{ " + ", ".join(f"{key} = {as_toml(value)}" for key, value in values.items()) + " }"


def labelled(name: str) -> tuple[str, TextFileConfig]:
    """One --data of a model that learns labels: LABEL=FILE.

    Raises:
        ValueError: there is no label.
    """
    label, equals, file = name.partition("=")
    if not equals or not label:
        raise ValueError(f"--data {name}: write LABEL=FILE, such as news=news.txt")
    return label, text(file)


def as_toml(value: object) -> str:
    """A string, a number or a list of them as TOML writes it, which is as JSON does."""
    return json.dumps(value, ensure_ascii=False)


def direction_of(start: Path | None, recipe: Path) -> list[str]:
    """A translator's languages, as assignments to a recipe that fine-tunes it.

    Raises:
        ValueError: the recipe trains something else.
    """
    if start is None:
        return []
    from prosector.config.folder import TranslatorFolder
    from prosector.decoding.folder_config import read_config

    config = read_config(start)
    if not isinstance(config, TranslatorFolder):
        return []
    kind = tomllib.loads(recipe.read_text("utf-8-sig")).get("model", {}).get("kind", "transformer")
    if kind not in ("transformer", "rnn", "rnn-attention"):
        raise ValueError(
            f"--from {start.name} is a translator ({config.kind}), and the recipe {recipe.stem} trains a {kind}; "
            "the recipe fine-tune trains translators further"
        )
    return [
        f"data.source={config.source}",
        f"data.target={config.target}",
        f"data.source_eos={as_toml(config.source_eos)}",
    ]


def text(name: str) -> TextFileConfig:
    """One --data of a model that writes: a file, or FILE:COLUMN.

    Raises:
        FileNotFoundError: there is no such file.
    """
    from prosector.config.texts import TextFileConfig

    path, _, column = name.rpartition(":")
    if Path(name).exists() or not column.isdigit():
        path, column = name, ""
    file = Path(path).expanduser().absolute()
    if not file.exists():
        raise FileNotFoundError(f"there is no file {file}")
    return TextFileConfig(path=str(file), column=int(column) if column else None)


def corpus(text: str, columns: str, languages: tuple[str, str]) -> FileConfig:
    """One --data: a table, or the source's file and the target's.

    The paths are whole ones, so that a run can be resumed from anywhere. Two files are told apart by .zh and .en
    where they end so, and else are the source's and the target's.

    Raises:
        ValueError: more than two files, or columns that do not fit.
        FileNotFoundError: there is no such file.
    """
    from pydantic import ValidationError

    from prosector.config.data import FileConfig
    from prosector.config.run import explain

    names = tuple(name.strip() for name in columns.split(","))
    if missing := sorted(set(languages) - set(names)):
        raise ValueError(f"--columns {columns}: has no {' and no '.join(missing)}")
    parts = [text] if Path(text).exists() or "," not in text else text.split(",")
    if len(parts) > 2:
        raise ValueError(f"--data {text}: two files side by side are SOURCE,TARGET; give --data again for others")
    files = [Path(part).expanduser().absolute() for part in parts]
    for file in files:
        if not file.exists():
            raise FileNotFoundError(f"there is no file {file}")
    if len(files) == 2 and f".{languages[0]}" in files[1].suffixes and f".{languages[0]}" not in files[0].suffixes:
        files.reverse()
    try:
        path = str(files[0]) if len(files) == 1 else (str(files[0]), str(files[1]))
        return FileConfig(path=path, columns=names)
    except ValidationError as error:
        raise ValueError(explain(error, "--columns")) from error
