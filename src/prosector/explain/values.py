"""The recorded values of a run, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor

from prosector.explain.arrays import Precision, packed
from prosector.observe import Seen
from prosector.observe.roles import Roles, head_roles

LEFT_OUT = ("logits", "*recomputed")  # a score for each of thousands of words; the page gets the likeliest


def recorded(seen: Seen, precision: Precision, keep: Sequence[str]) -> dict[str, Any]:
    """The values of one sentence by address, the batch's dimension dropped."""
    wanted = [
        address
        for address in seen
        if any(fnmatchcase(address, pattern) for pattern in keep)
        and not any(fnmatchcase(address, pattern) for pattern in LEFT_OUT)
    ]
    return {address: packed(whole(seen, address), precision) for address in wanted}


def whole(seen: Seen, address: str) -> Tensor:
    """A value of the one sentence; what a recurrent network forms step by step is put together."""
    steps = seen.steps(address)
    return steps[0][0] if len(steps) == 1 else torch.cat(steps, dim=1)[0]


def roles(seen: Seen) -> dict[str, list[dict[str, Any]]]:
    """What each head is for, by the address of its attention: the place that it looks at most, and all shares."""
    return {
        address: [
            {"name": name_of(head, address)} | {place: round(share, 4) for place, share in head._asdict().items()}
            for head in heads
        ]
        for address, heads in head_roles(seen).items()
    }


def name_of(head: Roles, address: str) -> str:
    """The place that a head looks at most; from one sequence to another none is before, the same, or after."""
    if not address.endswith(".cross"):
        return head.name
    return head._replace(previous=0.0, same=0.0, next=0.0).name
