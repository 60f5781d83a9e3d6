"""What a model is made of, for its drawing: its stacks, their layers, what each layer does in turn.

Read off the modules themselves, so that what is drawn is what runs: norms before or after, heads, sizes, the encoding
of positions and where it acts.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderLayer, EncoderLayer
from prosector.blocks.residual import PreNorm
from prosector.blocks.stack import Stack
from prosector.positions import Position

# The sublayers of a layer: the attribute, and the address of the sum after it.
SUBLAYERS: dict[type, tuple[tuple[str, str], ...]] = {
    EncoderLayer: (("attention", ".attended"), ("feed_forward", "")),
    DecoderLayer: (("self", ".looked_back"), ("cross", ".looked_across"), ("feed_forward", "")),
}
PLACES = ("embed", "rotate", "bias")  # where a position encoding may act


def machine(model: nn.Module, sequences: dict[str, str]) -> dict[str, Any]:
    """The stacks of a model in the order of its data, and how many weights each part has.

    Args:
        sequences: for each stack's address, which sequence of tokens goes through it.
    """
    stacks = [
        stack_of(module, address, sequences[address])
        for address, module in model.named_modules()
        if isinstance(module, Stack) and address in sequences
    ]
    counts = {address: weights_of(module) for address, module in model.named_modules() if address}
    return {"stacks": stacks, "weights": {address: n for address, n in counts.items() if n}, "total": weights_of(model)}


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
