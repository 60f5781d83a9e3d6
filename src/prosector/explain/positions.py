"""Every position encoding as a picture: measured, so that a user's own class is shown like ours.

Each encoding is asked what it does at its three places:

    embedding   what it adds to vectors of zeros                           [P, d]
    rotation    what becomes of one and the same query at each position    [P, d]
    scores      what it adds to the scores of each pair of positions       [P, P], of the first head

and how alike two positions are at each distance: the cosine of what was added, the dot product of what was turned, the
bias itself; each the mean over all pairs at that distance, of each head where there are several.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor, nn

from prosector.blocks.stack import Stack
from prosector.config.position import BUILT_IN, PositionConfig, registered_positions
from prosector.explain.arrays import packed
from prosector.explain.machine import position_of
from prosector.positions import Position, RotaryPosition

N_POSITIONS = 48
SIZES = {"d_model": 64, "n_heads": 4, "d_head": 32}
TRAINED = ("learned", "t5")  # tables of chance, before a model has learned them


def positions(model: nn.Module) -> dict[str, Any]:
    """The model's own encodings, and all others in a small size."""
    own = []
    for address, stack in model.named_modules():
        if isinstance(stack, Stack) and type(stack.position) is not Position:
            sizes = sizes_of(stack)
            if (found := measured(stack.position, **sizes)) is not None:
                own.append({"stack": address, "kind": position_of(stack.position)["name"], **found})
    return {"own": own, "all": all_encodings(tuple(registered_positions()))}


def sizes_of(stack: Stack) -> dict[str, int]:
    """What the encoding of a stack marks: features of a token, heads, features of a head."""
    layer: Any = stack.layers[0]
    attention = getattr(layer, "attention", None) or layer.self
    return {"d_model": attention.query.in_features, "n_heads": attention.n_heads, "d_head": attention.d_head}


@cache
def all_encodings(registered: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each encoding there is, the user's own registered ones too."""
    found = []
    for kind in (*BUILT_IN[1:], *registered):
        config: Any = TypeAdapter(PositionConfig).validate_python(kind)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            encoding = config.build(**SIZES, bidirectional=True)
        if (shown := measured(encoding, **SIZES)) is not None:
            found.append({"kind": kind, "untrained": kind in TRAINED, **shown})
    return found


@torch.no_grad()
def measured(encoding: Position, d_model: int, n_heads: int, d_head: int) -> dict[str, Any] | None:
    """What an encoding does at each of its places; None if it cannot say it of positions in a line."""
    acts = position_of(encoding)["acts"]
    at = torch.arange(N_POSITIONS)
    shown: dict[str, Any] = {}
    try:
        if "embed" in acts:
            added = encoding.embed(torch.zeros(1, N_POSITIONS, d_model), at)[0]
            unit = nn.functional.normalize(added.float(), dim=-1)
            shown["embed"] = {
                "picture": packed(added[:, some_pairs(d_model)]),
                "similarity": by_distance(unit @ unit.T),
            }
        if "rotate" in acts:
            same = torch.full((1, 1, N_POSITIONS, d_head), d_head**-0.5)
            query, key = (turned[0, 0] for turned in encoding.rotate(same, same, at, at))
            shown["rotate"] = {"picture": packed(query), "similarity": by_distance(query @ key.T)}
        if "bias" in acts and (bias := encoding.bias(at, at)) is not None:
            shown["bias"] = {"picture": packed(bias[0, 0]), "similarity": [by_distance(head)[0] for head in bias[0]]}
    except (IndexError, ValueError, RuntimeError):  # a table that is shorter, or positions of a picture's two axes
        return None
    if isinstance(encoding, RotaryPosition):
        shown["frequencies"] = encoding.frequencies(torch.float64, torch.device("cpu")).tolist()
        shown["layout"] = encoding.layout
    return shown


def some_pairs(d_model: int) -> list[int]:
    """64 features at most, from the first to the last, in pairs, since many encodings work in pairs."""
    step = max(1, d_model // 64)
    return [feature for feature in range(d_model) if feature // 2 % step == 0][:64]


def by_distance(table: Tensor) -> list[list[float]]:
    """The mean of each diagonal of [P, P]: of keys 0, 1, 2, … before their query."""
    return [[round(table.diagonal(-distance).mean().item(), 5) for distance in range(len(table))]]
