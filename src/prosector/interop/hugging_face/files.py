"""What lies in a folder of a Hugging Face model: its config, and its weights in one file or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


def read_json(path: Path) -> dict[str, Any]:
    """A file that holds one JSON object.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it holds something else.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} has no {path.name}: it is no folder of a Hugging Face model")
    try:
        found = json.loads(path.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not JSON ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: not a JSON object")
    return found


def read_weights(folder: Path) -> dict[str, Tensor]:
    """All weights of a folder in float32 (integers as they are), from one file or from those that an index names.

    Raises:
        FileNotFoundError: there are none, or a file of the index is missing.
        ValueError: a file is damaged, lies elsewhere, or lacks what the index says; or the weights are a pickle.
    """
    if (folder / WEIGHTS).is_file():
        return read_safetensors(folder / WEIGHTS)
    if not (folder / INDEX).is_file():
        if any(folder.glob("pytorch_model*.bin")):
            raise ValueError(
                f"{folder} holds its weights as a pickle, which runs code when it is read; load it with transformers "
                "where you trust it, and save_pretrained writes safetensors"
            )
        raise FileNotFoundError(f"{folder} has neither {WEIGHTS} nor {INDEX}")
    places = read_json(folder / INDEX).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
        raise ValueError(f"{folder / INDEX}: weight_map is missing, or not a table of names")
    if outside := [name for name in places.values() if Path(name).name != name]:
        raise ValueError(f"{folder / INDEX}: {outside[0]} is not a file of this folder")
    found: dict[str, Tensor] = {}
    for name in dict.fromkeys(places.values()):
        found |= read_safetensors(folder / name)
    if missing := sorted(places.keys() - found.keys()):
        raise ValueError(f"{folder / INDEX} names weights that its files do not hold: {', '.join(missing)}")
    return found


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, floats as float32.

    Raises:
        FileNotFoundError: it is missing.
        ValueError: it is damaged.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing, and the index names it")
    try:
        found = load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged or not a safetensors file ({error})") from error
    return {name: value.float() if value.is_floating_point() else value for name, value in found.items()}
