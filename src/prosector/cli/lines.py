"""Lines of text from wherever they come, in chunks, and a file that is written whole or not at all."""

from __future__ import annotations

import os
import select
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice, repeat
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

Line = TypeVar("Line", str, bytes)

FIRST_CHUNK, CHUNK = 16, 128  # lines that are translated together; few at first, so that something is seen soon
PATIENCE = 0.05  # seconds to wait for more lines of a pipe before going on with those that are there


def sizes() -> Iterator[int]:
    """How many lines each chunk has."""
    return chain([FIRST_CHUNK], repeat(CHUNK))


def chunks(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Lines, some at a time."""
    source = iter(lines)
    for size in sizes():
        if not (chunk := list(islice(source, size))):
            return
        yield chunk


def standard_input() -> Iterator[list[str]]:
    """The lines of stdin: a full chunk where they come fast, what is there where they come slowly.

    Raises:
        ValueError: a line is not UTF-8.
    """
    number = 0
    for raw in raw_lines(sys.stdin.buffer):
        chunk = []
        for line in raw:
            number += 1
            chunk.append(decoded(line, number))
        yield chunk


def decoded(line: bytes, number: int) -> str:
    """A line without its end, and the first without a BOM."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input, line {number}: not UTF-8 ({error.reason} at byte {error.start})") from error


def raw_lines(file: BinaryIO) -> Iterator[list[bytes]]:
    """Lines as they arrive, at most a chunk's number at a time."""
    try:
        descriptor = file.fileno()
        select.select([descriptor], [], [], 0)
    except (OSError, ValueError):  # no file of the system's: all is there
        yield from chunks(file)
        return

    waiting: list[bytes] = []
    rest = b""
    open_end = True
    for size in sizes():
        # Wait for the first line as long as it takes, for the others only a moment.
        while open_end and len(waiting) < size:
            ready, _, _ = select.select([descriptor], [], [], PATIENCE if waiting else None)
            if not ready:
                break
            block = os.read(descriptor, 1 << 16)
            *whole, rest = (rest + block).split(b"\n")
            waiting += whole
            if not block:
                open_end = False
                waiting += [rest] if rest else []
        if not waiting:
            return
        yield waiting[:size]
        waiting = waiting[size:]


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """A text file to write, which comes into being, or replaces what was there, only once all is written.

    Raises:
        FileNotFoundError: its folder does not exist.
        IsADirectoryError: it is a folder.
        PermissionError: it may not be written there.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give a file's name")
    if path.exists() and not path.is_file():  # /dev/stdout, a named pipe: nothing there that could be lost
        with path.open("w", encoding="utf-8") as file:
            yield file
        return
    place = path.resolve()  # behind a link, the file itself
    if not place.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {path.parent} to write {path.name} into")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(f"{path} may not be written")
    beside = place.with_name(f".{place.name}.{os.getpid()}.new")
    try:
        try:
            file = beside.open("x", encoding="utf-8", newline="\n")
        except PermissionError as error:
            raise PermissionError(f"{path} may not be written: no file can be made in {place.parent}") from error
        with file:
            yield file
        if place.exists():
            shutil.copymode(place, beside)
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)
