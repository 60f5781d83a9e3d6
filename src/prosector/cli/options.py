"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Columns = Annotated[str, typer.Option(metavar="NAMES", help="What the columns of a table hold.")]
Beam = Annotated[int | None, typer.Option(metavar="N", help="Hypotheses followed at once; 1 is greedy. [default: 4]")]
Parts = Annotated[
    list[Path] | None, typer.Option("--part", metavar="FILE", help="A Python file with a Position of your own.")
]


def load(parts: list[Path] | None) -> None:
    """Make the positions in the user's own files known."""
    from prosector.positions import load_parts

    for part in parts or ():
        load_parts(part)
