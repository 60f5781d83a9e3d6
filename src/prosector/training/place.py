"""The folder of a run: one run at a time, nothing of anybody else's overwritten."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prosector.config.run import AnyRun, run_class


def config_of(folder: Path) -> AnyRun:
    """The config of the run that a folder holds.

    Raises:
        ValueError: it holds none that could go on.
    """
    if not (folder / "training" / "state.pt").is_file():
        raise ValueError(f"{folder} holds no run to resume: it has no training/state.pt; start it without --resume")
    tree = json.loads((folder / "training" / "run.json").read_text(encoding="utf-8"))
    return run_class(tree).model_validate(tree)


def require_empty(folder: Path) -> None:
    """A run begins in a folder of its own.

    Raises:
        ValueError: the folder holds a model, a run, or something else.
    """
    if (folder / "training" / "state.pt").exists() or (folder / "config.json").exists():
        raise ValueError(f"{folder} already holds a model or a run; --resume goes on with it, or choose another --out")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; --out names a folder for the model")
    others = sorted(path.name for path in folder.iterdir() if path.name != "training") if folder.exists() else []
    if others:
        raise ValueError(f"{folder} is not empty (it holds {others[0]}); choose a new folder for the model")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out of a folder for as long as this one lasts; a killed one lets go too.

    Raises:
        ValueError: a run is in it now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(f"another run is in {folder.parent} now; wait for it, or choose another --out") from error
        yield
