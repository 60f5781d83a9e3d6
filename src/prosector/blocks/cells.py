"""One step of a recurrent cell, written out.

    LSTM   i, f, o = σ(W x + b + U h + b_h)      g = tanh(likewise)             of each its own rows of W and U
           c' = f ⊙ c + i ⊙ g                    h' = o ⊙ tanh(c')              Hochreiter and Schmidhuber 1997
    GRU    r, z = σ(W x + b + U h + b_h)         n = tanh(W x + b + r ⊙ (U h + b_h))
           h' = (1 - z) ⊙ n + z ⊙ h                                             Cho et al. 2014

The rows lie below each other in the order i, f, g, o and r, z, n, as torch.nn keeps them. A gate opens at 1 and shuts
at 0: i lets in, f keeps, o lets out; r lets the past into what is new, z keeps the past itself.

Shapes: B batch, d features of the input, h features of the state.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

LSTM_GATES = ("input_gate", "forget_gate", "candidate", "output_gate")  # in the order of their rows
GRU_GATES = ("reset_gate", "update_gate", "candidate")

Show = Callable[[str, Tensor], Tensor]  # a name and a value → the value, or what an observer puts in its place


class CellWeights(NamedTuple):
    """W and b of the input, U and b_h of the state."""

    input: Float[Tensor, "gates·h d"]
    state: Float[Tensor, "gates·h h"]
    input_bias: Float[Tensor, " gates·h"]
    state_bias: Float[Tensor, " gates·h"]


def lstm_step(
    x: Float[Tensor, "B d"], h: Float[Tensor, "B h"], c: Float[Tensor, "B h"], weights: CellWeights, show: Show
) -> tuple[Float[Tensor, "B h"], Float[Tensor, "B h"]]:
    """h' and c'."""
    together = F.linear(x, weights.input, weights.input_bias) + F.linear(h, weights.state, weights.state_bias)
    i, f, g, o = together.chunk(4, dim=-1)
    i, f = show("input_gate", i.sigmoid()), show("forget_gate", f.sigmoid())
    g, o = show("candidate", g.tanh()), show("output_gate", o.sigmoid())
    c = f * c + i * g
    return o * c.tanh(), c


def gru_step(
    x: Float[Tensor, "B d"], h: Float[Tensor, "B h"], weights: CellWeights, show: Show
) -> Float[Tensor, "B h"]:
    """h'."""
    x_r, x_z, x_n = F.linear(x, weights.input, weights.input_bias).chunk(3, dim=-1)
    h_r, h_z, h_n = F.linear(h, weights.state, weights.state_bias).chunk(3, dim=-1)
    r, z = show("reset_gate", (x_r + h_r).sigmoid()), show("update_gate", (x_z + h_z).sigmoid())
    n = show("candidate", (x_n + r * h_n).tanh())
    return (1 - z) * n + z * h
