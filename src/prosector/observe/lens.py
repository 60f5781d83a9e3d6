"""The logit lens: what would be written if the model stopped after this layer? (nostalgebraist 2020)

logits_i = W_out norm(x_i)             the last norm and the output's table, on each layer's vectors
"""

from __future__ import annotations

from itertools import count
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.observe.observing import Seen


def logit_lens(model: nn.Module, seen: Seen, stack: str = "decoder") -> Float[Tensor, "N B L V"]:
    """The logits after the embeddings, after the first layer, …, after the last, which are the model's own.

    Args:
        model: one that writes: it has `logits`, and a stack at that address.
        seen: a run with `<stack>.input` and the layers' outputs recorded, in one piece.

    Raises:
        KeyError: they were not recorded.
    """
    parts: Any = model
    norm = parts.get_submodule(stack).final_norm
    scale = getattr(parts, "output_scale", 1.0)
    found = []
    with torch.no_grad():
        for vectors in outputs_of(seen, stack):
            normed = vectors if norm is None else norm(vectors)
            found.append(parts.logits(normed * scale))
    return torch.stack(found)


def outputs_of(seen: Seen, stack: str) -> list[Float[Tensor, "B L d"]]:
    """What goes into a stack, and what comes out of each of its layers.

    Raises:
        KeyError: it was not recorded.
    """
    found = [seen[f"{stack}.input"]]
    for number in count():
        if f"{stack}.{number}" not in seen:
            return found if number else [*found, seen[f"{stack}.0"]]
        found.append(seen[f"{stack}.{number}"])
    return found
