"""`prosector demo`: the tour, about six minutes on two cores."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prosector.cli.console import quoted
from prosector.cli.mistakes import Stopped

if TYPE_CHECKING:
    from prosector.data.corpus import Pair
    from prosector.decoding.translator import Translator

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
GREETINGS = {
    "zh": ["我喜欢深度学习。", "人山人海。", "明天会下雨吗？", "这家饭馆的菜又便宜又好吃。"],
    "en": ["How are you?", "I like deep learning.", "Where is the nearest station?", "She has been waiting for an hour."],
}
SHOWN = 6  # unseen sentences that are shown side by side

Seconds = Annotated[int, typer.Option(metavar="N", min=2, help="How long the training takes; fine-tuning, a third of it.")]


def demo(seconds: Seconds = 200) -> None:
    from prosector.cli.tour import Tour

    folder = clean(FOLDER)
    try:
        Tour(folder, seconds).run()
    except KeyboardInterrupt as stop:
        raise Stopped(f"stopped; what is done so far is in {folder}, and `prosector demo` begins anew") from stop


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
