"""What is a head for? How much of its attention goes to a few places that have names (Voita et al. 2019).

previous    the token before          same        the token itself
next        the token after           first       the first token
last        the last token            diagonal    the place of the same share of the other sequence
spread      entropy / ln(length): 0 looks at one token, 1 at all alike
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from prosector.observe.observing import Seen


class Roles(NamedTuple):
    """The share of a head's attention that goes to each place, its mean over rows; and how far it is spread."""

    previous: float
    same: float
    next: float
    first: float
    last: float
    diagonal: float
    spread: float

    @property
    def name(self) -> str:
        """The place that gets the most, if it gets more than a third."""
        places = self._asdict()
        places.pop("spread")
        best = max(places, key=lambda place: places[place])
        return best if places[best] > 1 / 3 else "mixed"


def roles_of(weights: Float[Tensor, "H Lq Lk"]) -> list[Roles]:
    """The roles of the heads of one attention, on one sentence without padding.

    Rows without the place in question (the first token has none before it) are left out of its mean.
    """
    wide = weights.to(torch.promote_types(weights.dtype, torch.float32))
    n_queries, n_keys = wide.shape[1:]
    rows = torch.arange(n_queries)
    diagonal = ((rows + 0.5) * n_keys / n_queries).long().clamp(max=n_keys - 1)
    found = []
    for head in wide:
        entropy = torch.special.entr(head).sum(-1).mean().item()
        found.append(
            Roles(
                share_at(head, rows - 1),
                share_at(head, rows),
                share_at(head, rows + 1),
                head[:, 0].mean().item(),
                head[:, -1].mean().item(),
                head[rows, diagonal].mean().item(),
                entropy / math.log(n_keys) if n_keys > 1 else 0.0,
            )
        )
    return found


def share_at(head: Float[Tensor, "Lq Lk"], keys: Tensor) -> float:
    """The mean weight of each row's key, over the rows that have it."""
    there = (keys >= 0) & (keys < head.shape[1])
    return head[torch.arange(len(head))[there], keys[there]].mean().item() if there.any() else 0.0


def head_roles(seen: Seen, row: int = 0) -> dict[str, list[Roles]]:
    """The roles of all heads that were recorded, by the address of their attention."""
    addresses = [address for address in seen if address.endswith(".weights") and seen[address].ndim == 4]
    return {address.removesuffix(".weights"): roles_of(seen[address][row]) for address in addresses}
