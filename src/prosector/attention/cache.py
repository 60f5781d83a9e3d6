"""Keys and values kept between decoding steps, so that each step computes one new column only.

Decoding with a cache equals the full forward pass, one token or many at a time. Keys are kept
as attention uses them (rotated), with their positions, so masks and position encodings see
the whole line. New columns are written in place: what is computed with a cache has no gradients.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor


class KeysValues:
    """The growing keys and values of one attention, [B, Hkv, L, d].

    Room is made in doubling steps, so that a step writes one column and copies nothing.
    """

    def __init__(self) -> None:
        self.length = 0
        self._key: Tensor | None = None
        self._value: Tensor | None = None

    @property
    def key(self) -> Float[Tensor, "B Hkv L d_k"] | None:
        """All keys so far."""
        return None if self._key is None else self._key[:, :, : self.length]

    @property
    def value(self) -> Float[Tensor, "B Hkv L d_v"] | None:
        """All values so far."""
        return None if self._value is None else self._value[:, :, : self.length]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add new columns, and return all of them."""
        start, self.length = self.length, self.length + key.shape[2]
        self._key = write(self._key, key, start)
        self._value = write(self._value, value, start)
        return self._key[:, :, : self.length], self._value[:, :, : self.length]

    def select(self, rows: Int[Tensor, " B2"]) -> None:
        """Keep these rows, in this order; a row may be taken twice."""
        if self._key is not None and self._value is not None:
            self._key, self._value = self._key.index_select(0, rows), self._value.index_select(0, rows)


def write(room: Tensor | None, columns: Tensor, start: int) -> Tensor:
    """Put columns into the room from `start` on, in a larger room if they do not fit."""
    end = start + columns.shape[2]
    if room is None or end > room.shape[2]:
        larger = columns.new_empty(*columns.shape[:2], max(2 * end, 16), columns.shape[3])
        if room is not None:
            larger[:, :, :start] = room[:, :, :start]
        room = larger
    room[:, :, start:end] = columns
    return room


class Cache:
    """What one decoder has computed so far: its layers' keys and values, and their positions.

    Self-attention's grow with every step; cross-attention's are the memory's, computed once.
    """

    def __init__(self, n_layers: int) -> None:
        self.self_attention = [KeysValues() for _ in range(n_layers)]
        self.cross_attention = [KeysValues() for _ in range(n_layers)]
        self.positions: Int[Tensor, "B L"] | None = None
        self.counted = True  # whether they are 0, 1, 2, … for all that is known without looking

    def __len__(self) -> int:
        """How many tokens are kept."""
        return 0 if self.positions is None else self.positions.shape[-1]

    def extend(self, positions: Int[Tensor, "*B L"], counted: bool = False) -> Int[Tensor, "B L"]:
        """Note the positions of new tokens, and whether they go on counting; return those of all."""
        self.counted = self.counted and counted
        positions = torch.atleast_2d(positions)
        if self.positions is None:
            self.positions = positions
        else:
            rows = max(len(self.positions), len(positions))
            self.positions = torch.cat([self.positions.expand(rows, -1), positions.expand(rows, -1)], dim=1)
        return self.positions

    def select(self, rows: Int[Tensor, " B2"]) -> None:
        """Keep these rows, in this order: how a beam is reordered and finished sentences are dropped."""
        for kept in self.self_attention + self.cross_attention:
            kept.select(rows)
        if self.positions is not None and len(self.positions) > 1:
            self.positions = self.positions.index_select(0, rows)
