"""What can be changed in a run: any value by its address, and the usual changes by name.

    seen.edit("decoder.*.cross.weights", change)        any value: `change` gets it, and gives what stands in its place
    seen.remove_head("decoder.1.cross", 0)              head_i = 0 before the output map
    seen.set_mask("decoder.*.self", None)               softmax over all keys, or over those of another mask
    seen.swap_positions("encoder", 0, 2)                two tokens change places for the position encoding alone
    seen.remove_positions("encoder")                    all tokens at one place, so that none is before another
    seen.patch("encoder", other)                        what another run had there (activation patching)

Each holds for every step, in one piece, with a cache or in beam search, and for every kernel. Patterns are as for
files: `*` is anything, dots included. Edits follow each other in the order in which they were asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from prosector.attention import Mask

if TYPE_CHECKING:
    from prosector.observe.observing import Seen

Edit = Callable[[Tensor], Tensor]
EditAt = Callable[[str, Tensor], Tensor]  # the address, the value → what stands in its place


class Edits:
    """The changes that were asked for, and which of them met something to change."""

    def __init__(self) -> None:
        self._edits: list[tuple[str, EditAt]] = []
        self._masks: list[tuple[str, Mask | None]] = []
        self._met: set[str] = set()

    def edit(self, pattern: str, change: Edit) -> None:
        """Let `change` stand in for every value whose address fits the pattern."""
        self._edits.append((pattern, lambda address, value: change(value)))

    def remove_head(self, attention: str, *heads: int) -> None:
        """Take heads out of an attention: what they found is 0, so that the output map has nothing of them.

        Args:
            attention: its address, or a pattern: `decoder.*.cross`.
            heads: their numbers, from 0.

        Raises:
            ValueError: no head is named.
            IndexError: in the run, there is no such head.
        """
        if not heads:
            raise ValueError(f"no head of {attention} is named: remove_head({attention!r}, 0) removes the first")

        def without(address: str, value: Tensor) -> Tensor:
            return torch.where(chosen(address, value, 1, heads), 0.0, value)

        self._edits.append((within(attention, "heads"), without))

    def set_mask(self, attention: str, mask: Mask | None) -> None:
        """Let an attention go by another mask instead of its own; by none, so that everything sees everything.

        The model's whole mask is replaced, padding's part too: where there is padding, give `Mask.keys(real)` or what
        else shall hold. With a cache there is no future to be seen: a step's keys are those of its past.

        Args:
            attention: its address, or a pattern: `decoder.*.self`.
        """
        self._masks.append((attention, mask))

    def swap_positions(self, stack: str, first: int, second: int) -> None:
        """Let two tokens change places for the position encoding; masks still go by where they are.

        Args:
            stack: the address of a stack, or a pattern.
            first: a position; of a picture's patches, its number row by row.
            second: the other one.
        """

        def swapped(address: str, positions: Tensor) -> Tensor:
            if positions.is_floating_point():  # places in a picture, [L, axes]
                order = torch.arange(len(positions), device=positions.device)
                order[[first, second]] = order[[second, first]]
                return positions[order]
            return torch.where(positions == first, second, torch.where(positions == second, first, positions))

        self._edits.append((within(stack, "*positions"), swapped))

    def remove_positions(self, stack: str) -> None:
        """Put all tokens at position 0 for the position encoding, so that none is before another.

        What an encoding adds to all of them alike stays. Masks still go by where tokens are, so that a causal stack
        knows an order even so.

        Args:
            stack: the address of a stack, or a pattern.
        """
        self._edits.append((within(stack, "*positions"), lambda address, positions: torch.zeros_like(positions)))

    def patch(
        self, pattern: str, other: Seen, *, rows: Sequence[int] | None = None, heads: Sequence[int] | None = None
    ) -> None:
        """Put what another run had at an address in the place of what comes there; step by step, if there are steps.

        Args:
            pattern: of addresses; the other run has them recorded.
            other: the other run, of the same model or of one with the same addresses and shapes.
            rows: of which tokens (queries, of scores and weights); all by default.
            heads: of which heads; all by default.

        Raises:
            KeyError: in the run, the other one has nothing recorded at the address.
            IndexError: it has fewer steps, or there is no such row or head.
            ValueError: the shapes differ, or the value has no rows or heads.
        """
        met: Counter[str] = Counter()

        def patched(address: str, value: Tensor) -> Tensor:
            steps, step = other.steps(address), met[address]
            met[address] += 1
            if step >= len(steps):
                raise IndexError(f"the other run has {len(steps)} steps at {address}, and this is number {step + 1}")
            there = steps[step].to(value)
            if there.shape != value.shape:
                raise ValueError(
                    f"{address} is {list(value.shape)} here and {list(there.shape)} in the other run; "
                    "patch runs of the same length, or single rows by an edit of your own"
                )
            here = torch.ones((), dtype=torch.bool, device=value.device)
            if heads is not None:
                here = here & chosen(address, value, 1, heads)
            if rows is not None:
                here = here & chosen(address, value, -2, rows)
            return torch.where(here, there, value)

        self._edits.append((pattern, patched))

    # What a run asks

    def is_edited(self, address: str) -> bool:
        """Whether a value is to be changed."""
        return any(fnmatchcase(address, pattern) for pattern, _ in self._edits)

    def edited(self, address: str, value: Tensor) -> Tensor:
        """A value after all edits of it.

        Raises:
            ValueError: an edit changed the shape.
        """
        for pattern, change in self._edits:
            if fnmatchcase(address, pattern):
                self._met.add(pattern)
                changed = change(address, value.clone())  # an edit in place must not reach what was recorded before
                if changed.shape != value.shape:
                    raise ValueError(f"the edit of {address} returned {list(changed.shape)} for {list(value.shape)}")
                value = changed
        return value

    def mask_of(self, address: str, mask: Mask | None) -> Mask | None:
        """The mask of an attention after all changes of it."""
        for pattern, other in self._masks:
            if fnmatchcase(address, pattern):
                self._met.add(pattern)
                mask = other
        return mask

    def require_met(self) -> None:
        """Every edit has met a value.

        Raises:
            KeyError: one has not, so that what came out is not what was asked for.
        """
        missed = [pattern for pattern, _ in [*self._edits, *self._masks] if pattern not in self._met]
        if missed:
            raise KeyError(
                f"nothing passed at {missed[0]!r}, so it edited nothing; `for address in seen` lists addresses"
            )


def within(path: str, name: str) -> str:
    """The address of a value of a part; of a model that is the part itself, its name."""
    return f"{path}.{name}" if path else name


def chosen(address: str, value: Tensor, dimension: int, numbers: Sequence[int]) -> Tensor:
    """True at these numbers of a dimension (1: heads of [B, H, ..], -2: rows), broadcastable to the value.

    Raises:
        ValueError: the value has no such dimension.
        IndexError: there is no such number.
    """
    what, least = ("heads", 4) if dimension == 1 else ("rows", 3)
    if value.ndim < least:
        raise ValueError(f"{address} is {list(value.shape)} and has no {what}")
    size = value.shape[dimension]
    if any(not 0 <= number < size for number in numbers):
        raise IndexError(f"{address} has {what} 0 to {size - 1}, and {list(numbers)} were asked for")
    found = torch.zeros(size, dtype=torch.bool, device=value.device)
    found[list(numbers)] = True
    return found.view(size, *[1] * (value.ndim - 1 - dimension % value.ndim))
