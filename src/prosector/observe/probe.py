"""What can a linear map read off a vector? If it finds the word, the word is still there (Alain and Bengio 2016)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def linear_probe(vectors: Tensor, labels: Tensor, asked: Tensor | None = None) -> float:
    """The share of labels that a linear map finds in vectors.

    W = argmin ‖[x ; 1] W - onehot(label)‖² over the vectors that are not asked for; the answer is the largest column.

    Args:
        vectors: [N, d].
        labels: whole numbers from 0, [N].
        asked: which vectors are asked for and not learned from, [N]; None learns from all and asks for all.

    Raises:
        ValueError: the shapes do not fit, or there is nothing to learn from or to ask for.
    """
    if vectors.ndim != 2 or labels.shape != vectors.shape[:1] or (asked is not None and asked.shape != labels.shape):
        shapes = [list(each.shape) for each in (vectors, labels, asked) if each is not None]
        raise ValueError(f"shapes {shapes}: give vectors [N, d], a label [N] and whether it is asked for [N]")
    everything = torch.ones_like(labels, dtype=torch.bool)
    learned, asked = (everything, everything) if asked is None else (~asked, asked)
    if not learned.any() or not asked.any():
        raise ValueError(
            f"{int(learned.sum())} vectors to learn from and {int(asked.sum())} to ask for: give some of each"
        )
    x = F.pad(vectors.double(), (0, 1), value=1.0)  # [N, d + 1]
    wanted = F.one_hot(labels.long()).double()
    linear = torch.linalg.lstsq(x[learned], wanted[learned], driver="gelsd").solution  # [d + 1, classes]
    return ((x[asked] @ linear).argmax(1) == labels[asked]).double().mean().item()
