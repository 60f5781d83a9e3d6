"""The README of a trained model: what it is, how it came to be, how it does; all that somebody needs to repeat it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from prosector.config.data import FileConfig
from prosector.config.run import AnyRun
from prosector.config.texts import TextFileConfig
from prosector.data.corpus import find
from prosector.training.task import Validation


class Story(NamedTuple):
    """What a run did."""

    step: int
    size: int
    unit: str  # that the size counts
    precision: str  # of the matrix products: float32 or bf16
    seconds: float  # in training steps; validations not counted
    began_as: str = ""  # the model that was trained further
    command: str = ""


class About(NamedTuple):
    """What a family of models says of one.

    Attributes:
        title: what it does, in a few words.
        what: what it is, in a sentence without its end.
        data: what it learned from, as Markdown.
    """

    title: str
    what: str
    data: str


def model_readme(config: AnyRun, about: About, chosen: str, results: Mapping[str, Validation], story: Story) -> str:
    """Markdown for the model's folder, from the run's own numbers and files; `chosen` are the weights that are kept."""
    names = list(results[chosen].scores)
    rows = "\n".join(
        f"| {' | '.join([name + ' (kept)' * (name == chosen), f'{result.loss:.3f}', *figures(result)])} |"
        for name, result in results.items()
    )
    began = f"It began as {story.began_as}, and was trained further for " if story.began_as else "Trained for "
    command = f"\n```\n{story.command}\n```\n" if story.command else ""
    return f"""# {about.title}

{config.description or "Trained with Prosector."}

{about.what}.

{began}{story.step:,} steps on {story.size:,} {story.unit}, seed {config.training.seed},
matrix products in {story.precision}; {story.seconds / 3600:.2f} hours of training steps.
{command}
## How it does

| weights | development loss | {" | ".join(names)} |
|---|---|{"---|" * len(names)}
{rows}

{". ".join(results[chosen].notes)}.

## What it learned from

{about.data}
"""


def files_of(train: Sequence[FileConfig | TextFileConfig], dev: Sequence[FileConfig | TextFileConfig]) -> str:
    """Tables of the files that a model learned from and was chosen by; without any of these, part of those was."""
    chosen = f"""Chosen on:

| file | what | licence | sha256 |
|---|---|---|---|
{table_of(dev, weights=False)}"""
    return f"""| file | of an epoch | what | licence | sha256 |
|---|---|---|---|---|
{table_of(train)}

{chosen if dev else "Chosen on a part of these that was kept out of training."}"""


def figures(result: Validation) -> list[str]:
    """The scores as a table has them."""
    return [f"{value:.2f}" for value in result.scores.values()]


def table_of(files: Sequence[FileConfig | TextFileConfig], weights: bool = True) -> str:
    """A row for each file: its name, weight, origin and licence as the recipe says them, and its digest."""
    rows = []
    for file in files:
        for path in [file.path] if isinstance(file.path, str) else file.path:
            share = f"{file.weight:g} ×" if isinstance(file, FileConfig) else "all"
            column = f", column {file.column}" if isinstance(file, TextFileConfig) and file.column else ""
            cells = [
                f"`{named(path)}`{column}",
                *[share] * weights,
                file.origin,
                file.licence,
                f"`{sha256(path)}`",
            ]
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)


def named(path: str) -> str:
    """A file's name, without the folders of whoever trained on it."""
    return Path(path).name if Path(path).is_absolute() else path


def sha256(path: str) -> str:
    """The digest of a file as it lies there, packed or not."""
    with find(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
