"""What a run keeps on disk, so that it can be stopped at any moment and go on as if it never was.

    OUT/training/state.pt                 weights, optimiser, random numbers, place in the data
    OUT/training/step-000500.safetensors  the last few checkpoints, to be averaged
    OUT/training/log.jsonl                one record a logged step, a validation, the end

Files are written beside their place and moved there whole: a kill leaves the old one or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from prosector.models.weights import replace_file, replace_text


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of several checkpoints' weights, summed in float64."""
    total: dict[str, Tensor] = {}
    for path in paths:
        for name, value in load_file(path).items():
            total[name] = total.get(name, torch.zeros((), dtype=torch.float64)) + value.double()
    return {name: (value / len(paths)).float() for name, value in total.items()}


def save_state(path: Path, state: Mapping[str, Any]) -> None:
    """Write a run's whole state."""
    replace_file(path, lambda temporary: torch.save(dict(state), temporary))


def load_state(path: Path) -> dict[str, Any]:
    """Read what `save_state` wrote; tensors and plain values only, nothing is unpickled.

    Raises:
        ValueError: the file is damaged.
    """
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, MemoryError):  # the file is there, and cannot be read now
        raise
    except Exception as error:  # whatever a damaged file makes of the reader
        raise ValueError(f"{path}: damaged, so this run cannot go on; begin another with a new --out") from error


class Log:
    """A JSONL file that a resumed run continues where its checkpoint was."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cut(self, step: int) -> None:
        """Keep the records up to a step, and drop those that a stopped run had written after its checkpoint."""
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                break  # the kill came while this line was written
            if record["step"] > step or "final" in record:  # the choice at the end is made again
                break
            kept.append(line + "\n")
        replace_text(self.path, "".join(kept))

    def write(self, record: Mapping[str, Any]) -> None:
        """Add one record."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
