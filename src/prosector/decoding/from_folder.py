"""What everything that is made of a model's folder has: a way to load it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self


class FromFolder:
    """Made of what `read_folder` finds in a model's folder."""

    read_folder: ClassVar[Any]  # a function of the folder; what it returns are the constructor's arguments

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """What is in a model's folder.

        Raises:
            FileNotFoundError: it is no model's folder, or a file is missing.
            ValueError: a file is damaged, the files do not fit each other, or it is a model of another kind.
        """
        return cls(*cls.read_folder(Path(folder)))
