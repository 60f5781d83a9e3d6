"""ViT: patches, a class token, pre-norm (Dosovitskiy et al. 2021).

Their class token has a position of its own, which is only ever added to it: ours is the sum of the two.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from prosector.config.vit import ViTConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, Tensors, both
from prosector.interop.hugging_face.settings import NAMES_OF_ACTIVATIONS, Settings, numbered_labels, require_expressible

DEFAULTS: dict[str, Any] = {
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "layer_norm_eps": 1e-12,
    "image_size": 224,
    "patch_size": 16,
    "num_channels": 3,
    "qkv_bias": True,
}


def side(value: Any) -> tuple[int, int]:
    """Height and width, of which theirs is one number where they are alike."""
    return (value, value) if isinstance(value, int) else (int(value[0]), int(value[1]))


def config_of(theirs: Settings, names: Collection[str]) -> ViTConfig:
    """Ours.

    Raises:
        ValueError: there is no head, or one for fewer than two classes.
    """
    if "classifier.weight" not in names:
        raise ValueError("it holds no classifier.weight: only a ViT that classes pictures can be read")
    return ViTConfig(
        picture=side(theirs["image_size"]),
        patch=side(theirs["patch_size"]),
        d_input=theirs["num_channels"],
        layers=theirs["num_hidden_layers"],
        d_model=theirs["hidden_size"],
        n_heads=theirs["num_attention_heads"],
        d_ff=theirs["intermediate_size"],
        n_classes=len(theirs.found.get("id2label") or "ab"),
        activation=theirs.activation("hidden_act"),
        norm_eps=theirs["layer_norm_eps"],
        qkv_bias=None if theirs["qkv_bias"] else False,
        dropout=theirs["hidden_dropout_prob"],
        attention_dropout=theirs["attention_probs_dropout_prob"],
    )


def places(config: ViTConfig) -> Rule:
    """The class token and the positions: theirs are a list with the class token's first, ours a grid without."""
    height, width = config.grid(*config.picture)

    def read(given: Tensors) -> list[Tensor]:
        token, positions = given  # [1, 1, d], [1, 1 + h·w, d]
        grid = positions[0, 1:].T.unflatten(1, (height, width))  # [d, h, w]
        return [(token + positions[:, :1])[0], grid.contiguous()]

    def write(given: Tensors) -> list[Tensor]:
        token, grid = given
        rows = torch.cat([torch.zeros_like(token), grid.flatten(1).T])  # [1 + h·w, d]
        return [token[None], rows[None]]

    theirs = ("vit.embeddings.cls_token", "vit.embeddings.position_embeddings")
    return Rule(theirs, ("prefix", "encoder.position.table"), read, write)


def rules(config: ViTConfig) -> list[Rule]:
    """Which weight is which."""
    found = [
        places(config),
        *both("vit.embeddings.patch_embeddings.projection", "patches"),
        *both("vit.layernorm", "encoder.final_norm"),
        *both("classifier", "output"),
    ]
    for number in range(config.layers):
        theirs, ours = f"vit.encoder.layer.{number}", f"encoder.{number}"
        for part in ("query", "key", "value"):
            found += both(
                f"{theirs}.attention.attention.{part}", f"{ours}.attention.{part}", bias=config.qkv_bias is not False
            )
        found += [
            *both(f"{theirs}.attention.output.dense", f"{ours}.attention.output"),
            *both(f"{theirs}.layernorm_before", f"{ours}.norm1"),
            *both(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.inner"),
            *both(f"{theirs}.output.dense", f"{ours}.feed_forward.outer"),
            *both(f"{theirs}.layernorm_after", f"{ours}.norm2"),
        ]
    return found


def settings_of(config: ViTConfig) -> dict[str, Any]:
    """Theirs."""
    require_expressible(
        "ViT",
        config,
        {
            "position": ("grid",),
            "pooling": ("class-token",),
            "norm": ("layer",),
            "norm_placement": ("pre",),
            "final_norm": (None, True),
            "bias": (True,),
            "n_kv_heads": (None, config.n_heads),
            "d_head": (None, config.d_model // config.n_heads),
            "activation": tuple(NAMES_OF_ACTIVATIONS),
            "attention_scale": (None,),
        },
    )
    return {
        "image_size": config.picture[0] if config.picture[0] == config.picture[1] else list(config.picture),
        "patch_size": config.patch[0] if config.patch[0] == config.patch[1] else list(config.patch),
        "num_channels": config.d_input,
        "num_hidden_layers": config.layers,
        "hidden_size": config.d_model,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": NAMES_OF_ACTIVATIONS[config.activation],
        "layer_norm_eps": config.norm_eps or 1e-5,
        "qkv_bias": config.qkv_bias is not False,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        **numbered_labels(config.n_classes),
    }


VIT = Architecture(
    "vit",
    ("ViTForImageClassification",),
    DEFAULTS,
    config_of,
    rules,
    settings_of,
    prefix="vit.",
    ignored=(r"vit\.pooler\.dense\.(weight|bias)",),
)
