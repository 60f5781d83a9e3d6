"""Positions that a user writes: a class in a file of their own, used by its name like any built-in one.

    class Parity(Position):
        def __init__(self, d_model: int, n_heads: int, d_head: int, bidirectional: bool, size: float = 1.0): ...
        def embed(self, x, positions): ...

    load_parts("mine.py")                       # on the command line: --part mine.py
    position = { kind = "Parity", options = { size = 0.5 } }

Only a file that the user names is ever imported; a model's folder can name a class but not bring it.
"""

import hashlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from prosector.config.position import PART, register_positions
from prosector.positions.base import Position


def load_parts(path: str | Path) -> list[str]:
    """Import a Python file and register the `Position` subclasses it defines; all of them or, on an error, none.

    A class whose name begins with an underscore is taken for a base of others. Loading a file again, after a change,
    replaces its classes.

    Returns:
        The names, in the file's order: each may now be the `kind` of a position in a config.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not Python, fails when imported, defines no `Position`, or uses a name that is taken.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path} to take parts from")
    if path.suffix != ".py":
        raise ValueError(f"{path} is not a Python file; its name must end in .py")

    module = _imported(path.resolve())
    classes = list(dict.fromkeys(part for part in vars(module).values() if _is_position_of(module, part)))
    if not classes:
        raise ValueError(
            f"{path} defines no position: it needs a class that derives from prosector.positions.Position "
            "and whose name does not begin with an underscore"
        )
    register_positions(*classes)
    return [part.__name__ for part in classes]


def _is_position_of(module: ModuleType, part: object) -> bool:
    """Whether it is a position that this module itself defines, not one that it imported to build on."""
    return (
        isinstance(part, type)
        and issubclass(part, Position)
        and part.__module__ == module.__name__
        and not part.__name__.startswith("_")
    )


def _imported(path: Path) -> ModuleType:
    # Two files may share a name, and neither may hide an installed module; so the name is the path's own.
    name = f"{PART}{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # where dataclasses and type hints look a class's module up
    try:
        # Not by an import: that may take a change within the same second for the compiled file it left beside.
        exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except Exception as error:
        raise ValueError(f"{_where(path, error)}: {type(error).__name__}: {error}") from error
    return module


def _where(path: Path, error: Exception) -> str:
    """The file and, if the error came by way of it, the line."""
    if isinstance(error, SyntaxError):
        return str(path)  # whose message names the line
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{path}, line {lines[-1]}" if lines else str(path)
