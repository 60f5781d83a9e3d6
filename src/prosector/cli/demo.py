"""`prosector demo`: the tour, about six minutes on two cores."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

from prosector.cli.mistakes import StoppedError

HELP = """The tour, about six minutes on two cores, in the folder .demo.

It translates with the shipped models, trains a small translator from scratch and shows what it writes before
and after, fine-tunes the shipped one on the same sentences, and draws what its attention looks at.

\b
Examples:
  prosector demo
  prosector demo --seconds 60
"""

FOLDER = Path(".demo")
MARK = "made-by-prosector-demo"  # a file that says so: nobody else's folder is cleaned
Seconds = Annotated[int, typer.Option(metavar="N", min=2, help="How long the training takes; fine-tuning, a quarter.")]


def demo(seconds: Seconds = 250) -> None:
    from prosector.cli.tour import Tour
    from prosector.training.loop import InterruptedRunError

    folder = clean(FOLDER)
    try:
        Tour(folder, seconds).run()
    except (InterruptedRunError, KeyboardInterrupt) as stop:
        raise StoppedError(f"stopped; what is done so far is in {folder}, and `prosector demo` begins anew") from stop


def clean(folder: Path) -> Path:
    """The tour's folder, empty.

    Raises:
        FileExistsError: there is a folder of that name, and it is somebody else's.
    """
    if folder.exists() and not (folder / MARK).is_file():
        raise FileExistsError(f"{folder} is here and not of the demo's making; move it, or run the demo somewhere else")
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir()
    (folder / MARK).touch()
    return folder
