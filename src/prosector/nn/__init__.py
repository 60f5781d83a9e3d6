"""torch.nn's six Transformer classes by this project's arithmetic: same names, arguments, defaults and weights.

    from prosector import nn            # in the place of: from torch import nn; what is not here is torch.nn's

    layer = nn.TransformerEncoderLayer(d_model=512, nhead=8)
    layer.load_state_dict(theirs.state_dict())          # and the other way round

The parameters really carry torch.nn's names (they are not renamed on the way to a file), so checkpoints, optimisers'
parameter groups, `layer.linear1.weight` and hooks written for torch.nn's modules meet what they expect. With the same
seed a layer begins with torch.nn's own numbers. Every call takes one path, so that hooks, shapes and results are the
same in training and in evaluation.

What differs, `docs/conformance.md` lists: rows that may look at nothing give zeros; masks that contradict is_causal,
and 0/1 masks in floats, are errors; weights are those before dropout; a stack's layers begin with weights of their own.
Dropout's rate is a multiple of 1/256 and below 1 (`attention/dropout.py`).
"""

from typing import Any

import torch

from prosector.nn.attention import MultiheadAttention
from prosector.nn.layers import TransformerDecoderLayer, TransformerEncoderLayer
from prosector.nn.stacks import Transformer, TransformerDecoder, TransformerEncoder

__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def __getattr__(name: str) -> Any:
    """All else is torch.nn's own: Linear, Module, functional, …"""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(torch.nn, name)
