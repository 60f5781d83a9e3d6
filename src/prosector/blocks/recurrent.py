"""Recurrent layers on top of each other: a state that reads one token after another.

    h_t = cell(x_t, h_{t-1})            LSTM (Hochreiter and Schmidhuber 1997) or GRU (Cho et al. 2014)

The cells are PyTorch's. What is added here: padding anywhere in a row is passed over as if it were not there, so
that the last state is that of the last real token; and a state is one tensor, which a beam can reorder.

Shapes: B batch, L length, n layers, d features of a state.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Cell = Literal["lstm", "gru"]


class Recurrent(nn.Module):
    """n layers of LSTM or GRU cells, over a whole sequence or the next part of one.

    Args:
        d_input: features of a token.
        d_hidden: features of a state.
        bidirectional: whether a second set of layers reads from the end; the outputs of both lie side by side.
    """

    def __init__(
        self, cell: Cell, d_input: int, d_hidden: int, n_layers: int, dropout: float, bidirectional: bool = False
    ) -> None:
        super().__init__()
        self.is_lstm = cell == "lstm"
        self.n_layers, self.d_hidden = n_layers, d_hidden
        self.cells = (nn.LSTM if self.is_lstm else nn.GRU)(
            d_input,
            d_hidden,
            n_layers,
            batch_first=True,
            dropout=dropout if n_layers > 1 else 0.0,
            bidirectional=bidirectional,
        )
        for name, parameter in self.cells.named_parameters():
            if "bias" in name:
                nn.init.zeros_(parameter)
            elif "weight_hh" in name:
                for block in parameter.chunk(4 if self.is_lstm else 3):
                    nn.init.orthogonal_(block)
            else:
                nn.init.xavier_uniform_(parameter)
            if self.is_lstm and "bias_ih" in name:  # remember at first (Jozefowicz et al. 2015)
                parameter.data[d_hidden : 2 * d_hidden] = 1.0

    @property
    def n_states(self) -> int:
        """Vectors that a state is made of: one a layer, and an LSTM's cells besides."""
        return self.n_layers * (1 + self.is_lstm)

    def read(
        self, x: Float[Tensor, "B L d_in"], real: Bool[Tensor, "B L"]
    ) -> tuple[Float[Tensor, "B L d_out"], Float[Tensor, "B states d"]]:
        """Read whole sequences, padding passed over wherever it stands.

        Returns:
            An output for each token, 0 at padding, and the state after the last real one; 0 in a row of padding alone.
        """
        order = real.logical_not().to(torch.int8).argsort(dim=1, stable=True)  # the real ones first
        lengths = real.sum(dim=1)
        packed = pack_padded_sequence(
            take(x, order), lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False
        )
        out, state = self.cells(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        out = take(out, order.argsort(dim=1)).masked_fill(~real[:, :, None], 0.0)
        return out, self._join(state).masked_fill((lengths == 0)[:, None, None], 0.0)

    def go_on(
        self, x: Float[Tensor, "B L d_in"], state: Float[Tensor, "B states d"]
    ) -> tuple[Float[Tensor, "B L d"], Float[Tensor, "B states d"]]:
        """Read the next tokens from a state on: their outputs, and the state after them."""
        parts = state.transpose(0, 1).contiguous()  # [states, B, d]
        out, state = self.cells(x, (parts[: self.n_layers], parts[self.n_layers :]) if self.is_lstm else parts)
        return out, self._join(state)

    def top(self, state: Float[Tensor, "B states d"]) -> Float[Tensor, "B d"]:
        """The last layer's h."""
        return state[:, self.n_layers - 1]

    def _join(self, state: Tensor | tuple[Tensor, Tensor]) -> Float[Tensor, "B states d"]:
        return (torch.cat(state) if isinstance(state, tuple) else state).transpose(0, 1)


def take(x: Float[Tensor, "B L d"], order: Int[Tensor, "B L"]) -> Float[Tensor, "B L d"]:
    """Each row's tokens in another order."""
    return x.gather(1, order[:, :, None].expand_as(x))


class RecurrentCache:
    """What a recurrent decoder keeps between steps: its state, and what it computed of the memory once."""

    def __init__(self) -> None:
        self.state: Tensor | None = None
        self.keys: Tensor | None = None
        self.length = 0

    def __len__(self) -> int:
        """How many tokens were read."""
        return self.length

    def keep(self, state: Float[Tensor, "B states d"], n_tokens: int) -> None:
        """Note the state after so many further tokens."""
        self.state = state
        self.length += n_tokens

    def select(self, rows: Int[Tensor, " B2"]) -> None:
        """Keep these rows, in this order; a row may be taken twice."""
        if self.state is not None:
            self.state = self.state.index_select(0, rows)
        if self.keys is not None:
            self.keys = self.keys.index_select(0, rows)
