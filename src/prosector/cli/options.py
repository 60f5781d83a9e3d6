"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from prosector.decoding.texts import TextTranslator

Columns = Annotated[str, typer.Option(metavar="NAMES", help="What the columns of a table hold.")]
Beam = Annotated[int | None, typer.Option(metavar="N", help="Hypotheses followed at once; 1 is greedy. [default: 4]")]
Parts = Annotated[
    list[Path] | None, typer.Option("--part", metavar="FILE", help="A Python file with a Position of your own.")
]
Engine = Annotated[
    Literal["native", "pytorch", "ctranslate2", "onnx"] | None,
    typer.Option("--engine", help="What runs it: our 8-bit core, PyTorch, or what prosector export wrote for others."),
]


def translator_of(model: str, engine: str) -> TextTranslator:
    """The translator of a name or a folder, run by an engine."""
    from prosector.decoding.installed import find_model

    folder = find_model(model)
    if engine == "native":
        from prosector.decoding.native import NativeTranslator

        return NativeTranslator.load(folder)
    if engine == "pytorch":
        from prosector.decoding.translator import Translator

        return Translator.load(folder)
    from prosector.interop.engines import load_engine

    return load_engine(engine, folder)


def load(parts: list[Path] | None) -> None:
    """Make the positions in the user's own files known."""
    if not parts:
        return
    from prosector.positions import load_parts

    for part in parts:
        load_parts(part)
