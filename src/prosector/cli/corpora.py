"""Sentence pairs as the command line names them: FILE, or SOURCE,TARGET."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prosector.config.data import FileConfig


def corpus(text: str, columns: str, languages: tuple[str, str]) -> FileConfig:
    """One --data: a table, or the source's file and the target's.

    The paths are whole ones, so that a run can be resumed from anywhere. Two files are told apart by .zh and .en
    where they end so, and else are the source's and the target's.

    Raises:
        ValueError: more than two files, or columns that do not fit.
        FileNotFoundError: there is no such file.
    """
    from pydantic import ValidationError

    from prosector.config.data import FileConfig
    from prosector.config.run import explain

    names = tuple(name.strip() for name in columns.split(","))
    if missing := sorted(set(languages) - set(names)):
        raise ValueError(f"--columns {columns}: has no {' and no '.join(missing)}")
    parts = [text] if Path(text).exists() or "," not in text else text.split(",")
    if len(parts) > 2:
        raise ValueError(f"--data {text}: two files side by side are SOURCE,TARGET; give --data again for others")
    files = [Path(part).expanduser().absolute() for part in parts]
    for file in files:
        if not file.exists():
            raise FileNotFoundError(f"there is no file {file}")
    if len(files) == 2 and f".{languages[0]}" in files[1].suffixes and f".{languages[0]}" not in files[0].suffixes:
        files.reverse()
    try:
        path = str(files[0]) if len(files) == 1 else (str(files[0]), str(files[1]))
        return FileConfig(path=path, columns=names)
    except ValidationError as error:
        raise ValueError(explain(error, "--columns")) from error
