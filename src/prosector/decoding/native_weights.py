"""A model's weights as the native core reads them: from a model of ours, or straight from its folder.

The second takes no PyTorch, whose import takes longer than a translation. It knows the positions that are a table of
sines or of weights; of the others the model itself is asked.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig

if TYPE_CHECKING:
    from prosector.positions import Position

Arrays = dict[str, np.ndarray[Any, Any]]
SIDES = ("encoder", "decoder")
BY_TABLE = ("none", "sinusoidal", "learned")  # the positions that need no PyTorch


def arrays_in(folder: Path, config: TranslatorFolder, rows: int) -> Arrays:
    """All that the core needs of a folder's weights, and the tables of positions up to so many `rows`.

    Raises:
        FileNotFoundError: there are no weights.
        ValueError: they are damaged, or not numbers.
    """
    from prosector.decoding.folder_config import require_weights

    path = require_weights(folder)
    try:
        found = {name: value.astype(np.float32) for name, value in load_file(path).items()}
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged or not a safetensors file ({error})") from error
    if broken := [name for name, value in found.items() if not np.isfinite(value).all()]:
        raise ValueError(f"{path}: {broken[0]} holds values that are no numbers; train the model anew")
    model: Any = config.model
    if "output.weight" not in found:  # tied to the words that are put in
        tied = "target_embedding.weight" if "target_embedding.weight" in found else "source_embedding.weight"
        found["output.weight"] = found[tied]
    for side in SIDES:
        found |= {f"positions.{side}.{name}": table for name, table in simple_tables(model, side, rows, found).items()}
    return found


def simple_tables(config: TransformerConfig, side: str, rows: int, weights: Arrays) -> Arrays:
    """The tables of the encodings in `BY_TABLE`: what is added to the embeddings."""
    position: Any = config.position
    if position.kind == "learned":
        return {"added": weights[f"{side}.position.table.weight"][:rows]}
    if position.kind == "sinusoidal":
        return {"added": sinusoid(rows, config.d_model, position.layout)}
    return {}


def sinusoid(rows: int, d_model: int, layout: str) -> np.ndarray[Any, Any]:
    """`positions.sinusoidal.sinusoid` of the positions 0 … rows - 1, in float32: [rows, d]."""
    frequencies = np.float32(10000.0) ** (-np.arange(0, d_model, 2, dtype=np.float32) / np.float32(d_model))
    angles = np.arange(rows, dtype=np.float32)[:, None] * frequencies
    pair = np.sin(angles), np.cos(angles)
    joined = np.stack(pair, axis=-1).reshape(rows, -1) if layout == "interleaved" else np.concatenate(pair, axis=-1)
    return np.ascontiguousarray(joined[:, :d_model])


def arrays_of(model: Any, rows: int) -> Arrays:
    """All that the core needs of a model of ours, whatever its positions."""
    from prosector.models.weights import weights_of

    found = weights_of(model) | {"output.weight": model.output.weight.detach()}
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        tables = tables_of(stack.position, rows, model.config.d_model)
        found |= {f"positions.{side}.{name}": table for name, table in tables.items()}
    return {name: value.float().contiguous().numpy() for name, value in found.items()}


def tables_of(position: Position, rows: int, d_model: int) -> dict[str, Any]:
    """What an encoding does at each of its three places, as tables: `added`, `cosine` and `sine`, `bias`."""
    import torch

    from prosector.positions import Position, RotaryPosition

    kind, at = type(position), torch.arange(rows)
    found: dict[str, Any] = {}
    with torch.inference_mode():
        if kind.embed is not Position.embed:
            found["added"] = position.embed(torch.zeros(1, rows, d_model), at)[0]  # [rows, d]
        if isinstance(position, RotaryPosition):
            cosine, sine = position.cos_sin(at, torch.float32)  # [1, rows, d_head / 2]
            found |= {"cosine": cosine[0], "sine": sine[0]}
        bias = position.bias(torch.tensor([rows - 1]), torch.arange(2 * rows - 1))
        if bias is not None:
            found["bias"] = bias[0, :, 0]  # [H, 2 rows - 1], by key position - query position
    return found
