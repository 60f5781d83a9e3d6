"""The README of a trained model: what it is, how it came to be, how it does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prosector.config.data import FileConfig
from prosector.config.run import RunConfig
from prosector.training.validate import Validation

NAMES = {"zh": "Chinese", "en": "English"}


def model_readme(
    config: RunConfig,
    chosen: str,
    results: Mapping[str, Validation],
    step: int,
    seconds: float,
    tokens: int,
    began_as: str = "",
) -> str:
    """Markdown for the model's folder, from the run's own numbers."""
    data, model = config.data, config.model
    files = "\n".join(f"- {named(file)}, {file.weight:g} × an epoch" for file in data.train)
    rows = "\n".join(
        f"| {name}{' (kept)' if name == chosen else ''} | {result.loss:.3f} | {result.bleu:.1f} | {result.chrf:.1f} |"
        for name, result in results.items()
    )
    began = f"It began as {began_as}, and was trained further for " if began_as else "Trained for "
    return f"""# {NAMES[data.source]} to {NAMES[data.target]}

{config.description or "A translator trained with Prosector."}

{model.summary()}; vocabularies of {model.source_vocab:,} and {model.target_vocab:,} entries.

{began}{step:,} steps on {tokens:,} target tokens in {seconds / 3600:.2f} hours, seed {config.training.seed}, on

{files}

| weights | development loss | BLEU | chrF |
|---|---|---|---|
{rows}

(All development pairs, greedy.)
"""


def named(file: FileConfig) -> str:
    """A corpus by its files' names, without the folders of whoever trained on it."""
    paths = [file.path] if isinstance(file.path, str) else file.path
    return " and ".join(f"`{Path(path).name if Path(path).is_absolute() else path}`" for path in paths)
