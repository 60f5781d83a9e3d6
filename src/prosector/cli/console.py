"""Where words go: results to stdout, all else to stderr, colours only where they are wanted."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


EVERY = 5.0  # seconds between two lines that only say how far something is


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


class Doing:
    """What a command is at before its result: one line on a terminal, written anew; plain lines everywhere else.

    It is a context, after which a terminal's line is gone.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.redraws = stream, is_terminal(stream)
        self.next = 0.0

    def __enter__(self) -> Doing:
        return self

    def __exit__(self, *error: object) -> None:
        if self.redraws:
            self.write("\r\x1b[K")

    def tell(self, text: str) -> None:
        """It begins with something else."""
        self.next = time.monotonic() + EVERY
        self.write(f"\r\x1b[K{text} …" if self.redraws else f"{text}\n")

    def count(self, text: str, done: int, total: int) -> None:
        """So much of something is done; where lines stay, the first, the last, and one every few seconds are told."""
        if not self.redraws and 1 < done < total and time.monotonic() < self.next:
            return
        self.tell(f"{text}, {done} of {total}")

    def note(self, text: str) -> None:
        """Say something that stays."""
        self.write(f"\r\x1b[K{text}\n" if self.redraws else f"{text}\n")

    def write(self, text: str) -> None:
        """Let it be seen at once."""
        self.stream.write(text)
        self.stream.flush()


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
