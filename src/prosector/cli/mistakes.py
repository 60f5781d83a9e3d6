"""What went wrong, in one line: the user's mistake (exit 2), or a fault of ours (exit 1)."""

from __future__ import annotations

import errno
import os
import traceback
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from pydantic import ValidationError

# What the command-line parser raises: click's ClickException, wherever typer keeps it.
ParserError = typer.BadParameter.__mro__[2]

# What names a thing that the user can put right: a value, a file, a missing extra.
MISTAKES = (
    ValueError,
    FileNotFoundError,
    FileExistsError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
    ImportError,
)


# Where output goes has no room for it; the error names no file where that is stdout.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class StoppedError(Exception):
    """Ctrl-C; the message says what was saved and how to go on."""


class PipeClosedError(Exception):
    """Whoever read our output has seen enough."""


def explained(error: Exception, name: str) -> tuple[int, str]:
    """The exit code and the line for an error of the command called `name`; PROSECTOR_DEBUG=1 adds the traceback."""
    trace = "".join(traceback.format_exception(error)) if os.environ.get("PROSECTOR_DEBUG") else ""
    if isinstance(error, ParserError):
        message = error.format_message()  # type: ignore[attr-defined]
        return 2, f"{trace}{name}: {one_line(message)} ({name} --help shows how)"
    if place := in_a_part(error):
        return 2, f"{trace}{name}: {place}: {type(error).__name__}: {one_line(str(error))}"
    if isinstance(error, MISTAKES) and not is_ours(error):
        return 2, f"{trace}{name}: {one_line(text_of(error))}"
    if isinstance(error, OSError):  # a full disk, say
        return 1, f"{trace}{name}: {one_line(text_of(error))}"
    if isinstance(error, MemoryError):
        return 1, f"{trace}{name}: {no_room(str(error))}"
    way_out = "" if trace else "; PROSECTOR_DEBUG=1 before the command shows where"
    return 1, f"{trace}{name}: a fault of Prosector's: {type(error).__name__}: {one_line(str(error))}{way_out}"


def no_room(text: str) -> str:
    """A MemoryError of ours says what to do; of C++ and Python it says nothing."""
    if text in ("", "std::bad_alloc"):
        return "there is not enough memory; translate fewer or shorter lines at once, or raise the limit (ulimit -v)"
    return one_line(text)


def in_a_part(error: Exception) -> str | None:
    """The file and line of the user's own part (--part) that an error came by way of."""
    from prosector.config.position import PART

    frames = traceback.walk_tb(error.__traceback__)
    parts = [(frame, line) for frame, line in frames if str(frame.f_globals.get("__name__")).startswith(PART)]
    return f"{parts[-1][0].f_code.co_filename}, line {parts[-1][1]}" if parts else None


def is_ours(error: Exception) -> bool:
    """Whether a module of our own could not be imported: nothing that a user could install."""
    return isinstance(error, ImportError) and (error.name or "").split(".")[0] == "prosector"


def text_of(error: Exception) -> str:
    """What an error says, without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError) and error.errno in FULL:
        return f"the output cannot be written to its end: {error.strerror}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, ValueError) and hasattr(error, "errors"):
        from prosector.config.run import explain

        validation: ValidationError = error  # type: ignore[assignment]
        return explain(validation, validation.title)
    return str(error) or type(error).__name__


def one_line(text: str) -> str:
    """A message without line breaks."""
    return " ".join(text.split())
