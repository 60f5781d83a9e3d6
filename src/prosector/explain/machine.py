"""What a model is made of, for its drawing: its stacks, their layers, what each layer does in turn.

Read off the modules themselves, so that what is drawn is what runs: norms before or after, heads, sizes, the encoding
of positions and where it acts.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from prosector.attention import MultiHeadAttention
from prosector.blocks import ConvAttention, DecoderLayer, EncoderLayer
from prosector.blocks.residual import PreNorm
from prosector.blocks.stack import Stack
from prosector.models.conv_transformer import ConvLayer, Stage
from prosector.positions import Position

# The sublayers of a layer: the attribute, and the address of the sum after it.
SUBLAYERS: dict[type, tuple[tuple[str, str], ...]] = {
    ConvLayer: (("attention", ".attended"), ("feed_forward", "")),
    EncoderLayer: (("attention", ".attended"), ("feed_forward", "")),
    DecoderLayer: (("self", ".looked_back"), ("cross", ".looked_across"), ("feed_forward", "")),
}
PLACES = ("embed", "rotate", "bias")  # where a position encoding may act


def machine(model: nn.Module, sequences: dict[str, str]) -> dict[str, Any]:
    """The stacks of a model in the order of its data, and how many weights each part has.

    Args:
        sequences: for each stack's address, which sequence of tokens goes through it.
    """
    known = [(address, module) for address, module in model.named_modules() if address in sequences]
    stacks = [stack_of(part, address, sequences[address]) for address, part in known if isinstance(part, Stack)]
    stages = [stage_of(part, address, sequences[address]) for address, part in known if isinstance(part, Stage)]
    if stages:
        stages[-1]["finalNorm"] = "final_norm"
    counts = {address: weights_of(module) for address, module in model.named_modules() if address}
    weights = {address: n for address, n in counts.items() if n}
    return {"stacks": stacks + stages, "weights": weights, "total": weights_of(model)}


def weights_of(module: nn.Module) -> int:
    """How many numbers a part has learned."""
    return sum(parameter.numel() for parameter in module.parameters())


def stack_of(stack: Stack, address: str, sequence: str) -> dict[str, Any]:
    """A stack: its layers, and what comes before and after them."""
    return {
        "address": address,
        "sequence": sequence,
        "position": position_of(stack.position),
        "layers": [layer_of(layer, f"{address}.{number}") for number, layer in enumerate(stack.layers)],
        "firstNorm": None if stack.first_norm is None else f"{address}.first_norm",
        "finalNorm": None if stack.final_norm is None else f"{address}.final_norm",
    }


def stage_of(stage: Stage, address: str, sequence: str) -> dict[str, Any]:
    """A stage of a ConvTransformer as a stack: its embedding is a convolution, its keys are a sequence of their own."""
    layers = [layer_of(stage.get_submodule(str(number)), f"{address}.{number}") for number in range(stage.n_layers)]
    for layer in layers:
        layer["sublayers"][0]["keys"] = f"{sequence}.keys"
    return {
        "address": address,
        "sequence": sequence,
        "embedding": f"{address}.embed",
        "position": position_of(Position()),
        "layers": layers,
        "firstNorm": f"{address}.norm",
        "finalNorm": None,
    }


def layer_of(layer: nn.Module, address: str) -> dict[str, Any]:
    """A layer: whether its norms stand before the sublayers, and these in order."""
    sublayers = SUBLAYERS.get(type(layer), ())
    return {
        "address": address,
        "preNorm": isinstance(getattr(layer, "residual", None), PreNorm),
        "sublayers": [
            sublayer_of(getattr(layer, name), f"{address}.{name}")
            | {"norm": f"{address}.norm{number}", "sum": address + ending}
            for number, (name, ending) in enumerate(sublayers, start=1)
        ],
    }


def sublayer_of(module: nn.Module, address: str) -> dict[str, Any]:
    """An attention with its sizes, or a feed-forward network with its own."""
    if isinstance(module, ConvAttention):
        return sublayer_of(module.attention, f"{address}.attention")
    if isinstance(module, MultiHeadAttention):
        return {
            "address": address,
            "kind": "cross" if address.endswith(".cross") else "self",
            "heads": module.n_heads,
            "kvHeads": module.n_kv_heads,
            "size": module.d_head,
            "valueSize": module.d_value,
            "scale": module.d_head**-0.5 if module.scale is None else module.scale,
        }
    maps = [part for part in module.modules() if isinstance(part, nn.Linear)]
    return {"address": address, "kind": "feed-forward", "size": max(part.out_features for part in maps)}


def position_of(position: Position) -> dict[str, Any]:
    """An encoding's name, and which of the three methods it overrides."""
    acts = [place for place in PLACES if getattr(type(position), place) is not getattr(Position, place)]
    name = type(position).__name__
    return {"name": "none" if type(position) is Position else name.removesuffix("Position"), "acts": acts}
