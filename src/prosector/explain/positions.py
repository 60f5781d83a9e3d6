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
            found, _ = shown(stack.position, sizes_of(stack))
            if found is not None:
                own.append({"stack": address, "kind": position_of(stack.position)["name"], **found})
    return {"own": own, "all": all_encodings(tuple(registered_positions().items()))}


def sizes_of(stack: Stack) -> dict[str, int]:
    """What the encoding of a stack marks: features of a token, heads, features of a head."""
    layer: Any = stack.layers[0]
    attention = getattr(layer, "attention", None) or layer.self
    return {"d_model": attention.query.in_features, "n_heads": attention.n_heads, "d_head": attention.d_head}


@cache
def all_encodings(registered: tuple[tuple[str, type[Position]], ...]) -> list[dict[str, Any]]:
    """Each encoding there is, the user's own registered ones first; of these also those that say nothing, and why."""
    names = [name for name, _ in registered]
    found = []
    for kind in (*names, *BUILT_IN[1:]):
        config: Any = TypeAdapter(PositionConfig).validate_python(kind)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            encoding = config.build(**SIZES, bidirectional=True)
        said, fault = shown(encoding, SIZES)
        if said is not None:
            found.append({"kind": kind, "untrained": kind in TRAINED, **said})
        elif kind in names:
            found.append({"kind": kind, "fault": fault, **about(encoding)})
    return found


def shown(encoding: Position, sizes: dict[str, int]) -> tuple[dict[str, Any] | None, str]:
    """What an encoding does, at as many positions as it knows; or None, and what it said when it was asked.

    A table may be shorter, and an encoding of pictures wants two numbers for a place. A user's own class may fail in
    any way, which must not take the page away.
    """
    fault = ""
    for n_positions in (N_POSITIONS, N_POSITIONS // 2, N_POSITIONS // 4):
        try:
            return measured(encoding, n_positions, **sizes) | about(encoding), ""
        except Exception as error:
            fault = fault or f"{type(error).__name__}: {error}"
    return None, fault


def about(encoding: Position) -> dict[str, str]:
    """What a class of the user's own says of itself, in the first line of its docstring."""
    lines = (type(encoding).__doc__ or "").strip().splitlines()
    is_own = type(encoding).__name__ in registered_positions()
    return {"text": lines[0]} if is_own and lines else {}


@torch.no_grad()
def measured(encoding: Position, n_positions: int, d_model: int, n_heads: int, d_head: int) -> dict[str, Any]:
    """What an encoding does at each of its places."""
    acts = position_of(encoding)["acts"]
    at = torch.arange(n_positions)
    shown: dict[str, Any] = {}
    if "embed" in acts:
        added = encoding.embed(torch.zeros(1, n_positions, d_model), at)[0]
        unit = nn.functional.normalize(added.float(), dim=-1)
        shown["embed"] = {
            "picture": packed(added[:, some_pairs(d_model)]),
            "similarity": by_distance(unit @ unit.T),
        }
    if "rotate" in acts:
        same = torch.full((1, 1, n_positions, d_head), d_head**-0.5)
        query, key = (turned[0, 0] for turned in encoding.rotate(same, same, at, at))
        shown["rotate"] = {"picture": packed(query), "similarity": by_distance(query @ key.T)}
    if "bias" in acts and (bias := encoding.bias(at, at)) is not None:
        shown["bias"] = {"picture": packed(bias[0, 0]), "similarity": [by_distance(head)[0] for head in bias[0]]}
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
