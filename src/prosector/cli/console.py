"""Where words go: results to stdout, all else to stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


def say(text: str) -> None:
    """Tell whoever runs the command; never part of its result."""
    print(text, file=sys.stderr, flush=True)


def program() -> str:
    """How this program is called from here: by its name where the shell finds it, else by its path."""
    called = Path(sys.argv[0])
    if called.name != "prosector" or shutil.which("prosector"):
        return "prosector"
    return quoted(os.path.relpath(called) if called.is_relative_to(Path.cwd()) else called)


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody watches, on a terminal that can redraw."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def console(stream: TextIO) -> Console:
    """Rich's console on a stream; it heeds NO_COLOR, and writes plainly into files and pipes."""
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=not is_terminal(stream))


@contextmanager
def no_color(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Take `--no-color` out of the arguments, wherever it stands before a `--`, and let it do what NO_COLOR does."""
    options = list(arguments)
    end = options.index("--") if "--" in options else len(options)
    kept = [word for word in options[:end] if word != "--no-color"] + options[end:]
    before = os.environ.get("NO_COLOR")
    try:
        if len(kept) < len(options):
            os.environ["NO_COLOR"] = "1"
        yield kept
    finally:
        if before is None:
            os.environ.pop("NO_COLOR", None)
        else:
            os.environ["NO_COLOR"] = before


def prepare_streams() -> None:
    """Text goes out as UTF-8 into files and pipes; a terminal that lacks a character gets a ? for it."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")


def silence_stdout() -> None:
    """Let what is still to be written to a closed pipe, at exit, go nowhere."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # a stdout that is no file, as in tests
        return


def quoted(path: Path | str) -> str:
    """A path as one would type it."""
    return shlex.quote(str(path))
