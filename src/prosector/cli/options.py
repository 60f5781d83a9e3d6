"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from prosector.decoding.translator import Translator

Columns = Annotated[str, typer.Option(metavar="NAMES", help="What the columns of a table hold.")]
Beam = Annotated[int | None, typer.Option(metavar="N", help="Hypotheses followed at once; 1 is greedy. [default: 4]")]
Parts = Annotated[
    list[Path] | None, typer.Option("--part", metavar="FILE", help="A Python file with a Position of your own.")
]
Engine = Annotated[
    Literal["native", "ctranslate2", "onnx"] | None,
    typer.Option("--engine", help="What runs it: native is our 8-bit core; others run what prosector export wrote."),
]


def translator_of(model: str, engine: str | None) -> Translator:
    """The translator of a name or a folder, run by an engine or by ourselves."""
    from prosector.decoding import find_model, load

    if engine is None:
        return load(model)
    if engine == "native":
        from prosector.decoding.native import native

        return native(load(model))
    from prosector.interop.engines import load_engine

    return load_engine(engine, find_model(model))


def load(parts: list[Path] | None) -> None:
    """Make the positions in the user's own files known."""
    from prosector.positions import load_parts

    for part in parts or ():
        load_parts(part)
