"""How well a model classes: the share that is right, and how surprised it is by the right classes.

accuracy = right / all        loss = mean - log p(right class), nats
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


class Classed(NamedTuple):
    """What a model makes of labelled examples."""

    loss: float
    accuracy: float  # 0 to 1
    predicted: Int[Tensor, " N"]


@torch.inference_mode()
def classed(
    logits_of: Callable[[Tensor], Float[Tensor, "B C"]], examples: Tensor, labels: Int[Tensor, " N"], batch: int = 250
) -> Classed:
    """Class all examples, some at a time."""
    logits = torch.cat([logits_of(part).float().cpu() for part in examples.split(batch)])
    predicted = logits.argmax(dim=1)
    return Classed(F.cross_entropy(logits, labels).item(), (predicted == labels).double().mean().item(), predicted)
