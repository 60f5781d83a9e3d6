"""A model's weights on disk: safetensors, each weight once, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn


def replace_file(path: Path, write: Callable[[Path], object]) -> None:
    """Let `write(temporary path)` make a file, then move it to its place at once."""
    temporary = path.with_name(path.name + ".new")
    write(temporary)
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    os.chmod(temporary, 0o666 & ~current_umask())  # safetensors makes files that nobody else may read
    os.replace(temporary, path)


def current_umask() -> int:
    """The permissions that new files are not to have."""
    umask = os.umask(0)
    os.umask(umask)
    return umask


def replace_text(path: Path, text: str) -> None:
    """Let a text file appear, or change, at once."""
    replace_file(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """A model's weights and buffers by name, each once: of tied ones the first name."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach().contiguous() for name, value in named}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Put weights into a model, tied ones once.

    Raises:
        ValueError: some are missing, surplus, or of another shape; all are named.
    """
    own = weights_of(model)
    missing, surplus = sorted(own.keys() - weights.keys()), sorted(weights.keys() - own.keys())
    wrong = [
        f"{name} {list(weights[name].shape)} for {list(own[name].shape)}"
        for name in sorted(own.keys() & weights.keys())
        if own[name].shape != weights[name].shape
    ]
    faults = [
        f"{what}: {', '.join(names)}"
        for what, names in (("missing", missing), ("surplus", surplus), ("of another shape", wrong))
        if names
    ]
    if faults:
        raise ValueError(f"{where} does not fit the model: weights {'; '.join(faults)}")
    with torch.no_grad():
        for name, value in own.items():
            value.copy_(weights[name])


def save_weights(model: nn.Module, path: Path, dtype: torch.dtype | None = None) -> None:
    """Write a model's weights as safetensors, in another type if one is given."""
    weights = {name: value.to(dtype or value.dtype) for name, value in weights_of(model).items()}
    replace_file(path, lambda temporary: save_file(weights, temporary))
