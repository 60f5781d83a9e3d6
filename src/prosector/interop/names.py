"""What torch.nn calls a weight, and what a block calls it: dictionaries renamed, matrices cut apart and joined."""

import torch
from torch import Tensor

State = dict[str, Tensor]

FEED_FORWARD = {
    "linear1": "feed_forward.inner",
    "linear2": "feed_forward.outer",
    "activation": "feed_forward.activation",
}
NAMES: dict[str, dict[str, str]] = {  # what torch.nn calls a part, and what a block calls it
    "encoder": {"self_attn": "attention", **FEED_FORWARD},
    "decoder": {"self_attn": "self", "multihead_attn": "cross", **FEED_FORWARD},
}
PROJECTIONS = ("query", "key", "value")


def names_of(kind: str) -> dict[str, str]:
    """The names of a layer or a stack of this class; an attention's need no more than `split_projections`."""
    return next((NAMES[side] for side in NAMES if side in kind.lower()), {})


def block_names(state: State, names: dict[str, str]) -> State:
    """torch.nn's names of a layer or a stack become a block's."""
    renamed = {}
    for name, weight in state.items():
        path = [part for part in name.split(".") if part != "layers"]
        path = ["final_norm" if part == "norm" else names.get(part, part) for part in path]
        renamed[".".join(path)] = weight
    return split_projections(renamed)


def torch_names(state: State, names: dict[str, str]) -> State:
    """A block's names of a layer or a stack become torch.nn's."""
    renamed = {}
    for name, weight in joined_projections(state).items():
        name = name.replace("final_norm.", "norm.")
        for theirs, ours in names.items():
            name = name.replace(f"{ours}.", f"{theirs}.")
        renamed[f"layers.{name}" if name[0].isdigit() else name] = weight
    return renamed


def split_projections(state: State) -> State:
    """`in_proj_weight` becomes a matrix each for queries, keys and values, and so do the three that lie apart."""
    apart: State = {}
    for name, weight in state.items():
        path, _, last = name.rpartition(".")
        prefix = f"{path}." if path else ""
        if last in ("in_proj_weight", "in_proj_bias"):
            parts = zip(PROJECTIONS, weight.chunk(3), strict=True)
            apart |= {f"{prefix}{part}.{last.removeprefix('in_proj_')}": rows for part, rows in parts}
        elif last in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
            apart[f"{prefix}{next(part for part in PROJECTIONS if part[0] == last[0])}.weight"] = weight
        else:
            apart[name.replace("out_proj.", "output.")] = weight
    return apart


def joined_projections(state: State) -> State:
    """Queries', keys' and values' matrices become `in_proj_weight`, or stay apart where keys have other features."""
    together: State = {}
    for name, weight in state.items():
        stem, _, what = name.rpartition(".")
        path, _, part = stem.rpartition(".")
        prefix = f"{path}." if path else ""
        if part not in PROJECTIONS:
            together[name.replace("output.", "out_proj.")] = weight
        elif part == "query":
            three = [state[f"{prefix}{projection}.{what}"] for projection in PROJECTIONS]
            if len({each.shape[-1] for each in three}) == 1:
                together[f"{prefix}in_proj_{what}"] = torch.cat(three)
            else:
                names = [f"{prefix}{projection[0]}_proj_weight" for projection in PROJECTIONS]
                together |= dict(zip(names, three, strict=True))
    return together
