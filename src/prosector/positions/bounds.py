"""Positions that an encoding cannot tell: refused with a clear error, without making a GPU wait."""

import torch
from jaxtyping import Int
from torch import Tensor


def require_within(positions: Int[Tensor, "..."], limit: int, remedy: str) -> None:
    """Make sure that 0 ≤ position < limit for every position.

    To name a wrong position the host must read it. On the CPU that costs nothing; on another
    device, or in a compiled graph, the host would have to wait, so there the device itself
    asserts, without naming the position.

    Args:
        positions: of any shape.
        limit: the first position that is too large.
        remedy: what holds the positions, and what to do about it; the error ends with it.

    Raises:
        ValueError: a position is out of bounds (RuntimeError where the device asserts).
    """
    within = (positions >= 0) & (positions < limit)
    if torch.compiler.is_compiling() or positions.device.type != "cpu":
        torch._assert_async(within.all(), f"a position is outside 0 to {limit - 1}: {remedy}")
    elif not within.all():
        wrong = int(positions[~within][0])
        raise ValueError(f"position {wrong} is outside 0 to {limit - 1}: {remedy}")
