"""From a folder of a Hugging Face model to a model of ours: the config, the weights, the tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.bert import BERT
from prosector.interop.hugging_face.bloom import BLOOM
from prosector.interop.hugging_face.files import read_json, read_weights
from prosector.interop.hugging_face.gpt2 import GPT2
from prosector.interop.hugging_face.llama import LLAMA, QWEN2
from prosector.interop.hugging_face.marian import MARIAN
from prosector.interop.hugging_face.rules import read
from prosector.interop.hugging_face.settings import Settings
from prosector.interop.hugging_face.t5 import T5
from prosector.interop.hugging_face.vit import VIT
from prosector.models.weights import load_weights

ARCHITECTURES = {each.name: each for each in (GPT2, LLAMA, QWEN2, BLOOM, BERT, VIT, MARIAN, T5)}


@dataclass(frozen=True)
class Imported:
    """A model of theirs as ours, in float32 and in evaluation, and what its folder said."""

    folder: Path
    settings: Settings
    architecture: Architecture
    model: Any


def architecture_of(settings: dict[str, Any]) -> Architecture:
    """What a config says that it is of.

    Raises:
        ValueError: nothing that is known here; what is known is listed.
    """
    name = settings.get("model_type")
    if {"format", "kind"} <= settings.keys():
        raise ValueError(
            f"config.json: this is a model of Prosector's own, of the kind {settings['kind']}, which is used as it is: "
            "--model FOLDER; what was exported to CTranslate2 or ONNX by prosector translate --engine"
        )
    if name is None and {"bos_token", "eos_token", "unk_token"} <= settings.keys():
        raise ValueError(
            "config.json: this is a model of CTranslate2's, which has no way back; import what it was made of"
        )
    if name not in ARCHITECTURES:
        raise ValueError(f"config.json: model_type is {name!r}; known here are {', '.join(ARCHITECTURES)}")
    found = ARCHITECTURES[name]
    named = settings.get("architectures") or [found.classes[0]]
    if named[0] not in found.classes:
        raise ValueError(f"config.json: architectures is {named[0]}; of {name}, known are {', '.join(found.classes)}")
    return found


def read_folder(folder: str | Path) -> Imported:
    """The model in a folder with config.json and safetensors; no code of the folder's is run.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, the architecture is unknown, a field cannot be expressed, or weights are
            missing, surplus or of another shape; all are named.
    """
    folder = Path(folder)
    found = read_json(folder / "config.json")
    architecture = architecture_of(found)
    settings = Settings(found, architecture.defaults)
    weights = architecture.full_names(read_weights(folder))
    try:
        config = architecture.config_of(settings, weights.keys())
        with torch.random.fork_rng(devices=[]):  # the fresh weights that are overwritten cost no random number
            model: nn.Module = config.build().eval()
        ours = read(weights, model, architecture.rules(config), architecture.says_nothing)
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
    load_weights(model, ours, str(folder))
    return Imported(folder, settings, architecture, model)


def from_hugging_face(folder: str | Path) -> Any:
    """The model in a folder of theirs, as ours: its ids, their ids; raises as `read_folder` does."""
    return read_folder(folder).model
