"""Recurrent layers on top of each other: a state that reads one token after another.

    h_t = cell(x_t, h_{t-1})            LSTM (Hochreiter and Schmidhuber 1997) or GRU (Cho et al. 2014)

The cells are PyTorch's. What is added here: padding anywhere in a row is passed over as if it were not there, so
that the last state is that of the last real token; and a state is one tensor, which a beam can reorder.

PyTorch's cells never show their gates. For somebody who observes, the same is computed beside them, written out
(`cells.py`), with a tap after each step, [B, 1, d]: token after token in the order of reading, from the end in a
`backward` layer. The output stays that of PyTorch's cells, unless a gate or a state is edited. At padding, which comes
after a row's real tokens, a state stays as it is.

    <n>.input, .before, .cell_before            what layer n is given: x_t, h_{t-1} and, in an LSTM, c_{t-1}
    <n>.input_gate, .forget_gate, …             its gates
    <n>.cell, .state                            c_t and h_t
    <n>.backward.input, …                       the same of the layer that reads from the end
    recomputed                                  the largest difference of the two outputs

Shapes: B batch, L length, n layers, d features of a state.
"""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from prosector.blocks.cells import GRU_GATES, LSTM_GATES, CellWeights, gru_step, lstm_step
from prosector.tap import current_observer, tap

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
        x = take(x, order)
        packed = pack_padded_sequence(x, lengths.clamp(min=1).cpu(), batch_first=True, enforce_sorted=False)
        out, last = self.cells(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.shape[1])
        out, state = self.shown(x, None, lengths, out, self._join(last))
        out = take(out, order.argsort(dim=1)).masked_fill(~real[:, :, None], 0.0)
        return out, state.masked_fill((lengths == 0)[:, None, None], 0.0)

    def go_on(
        self, x: Float[Tensor, "B L d_in"], state: Float[Tensor, "B states d"]
    ) -> tuple[Float[Tensor, "B L d"], Float[Tensor, "B states d"]]:
        """Read the next tokens from a state on: their outputs, and the state after them."""
        parts = state.transpose(0, 1).contiguous()  # [states, B, d]
        out, last = self.cells(x, (parts[: self.n_layers], parts[self.n_layers :]) if self.is_lstm else parts)
        return self.shown(x, state, None, out, self._join(last))

    def top(self, state: Float[Tensor, "B states d"]) -> Float[Tensor, "B d"]:
        """The last layer's h."""
        return state[:, self.n_layers - 1]

    # Written out, for whoever observes

    def layers(self) -> list[tuple[str, str]]:
        """Every layer, as its address and as the ending of its weights' names in PyTorch's cells."""
        directions = (("", ""), (".backward", "_reverse"))[: 1 + self.cells.bidirectional]
        return [(f"{n}{where}", f"l{n}{ending}") for n in range(self.n_layers) for where, ending in directions]

    def weights(self, ending: str) -> CellWeights:
        """The weights of one layer."""
        names = (f"{name}_{ending}" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        return CellWeights(*(getattr(self.cells, name) for name in names))

    def shown(
        self, x: Tensor, first: Tensor | None, lengths: Tensor | None, out: Tensor, state: Tensor
    ) -> tuple[Float[Tensor, "B L d_out"], Float[Tensor, "B states d"]]:
        """What the cells gave, or, where an observer edits the inside of them, what comes of that.

        Args:
            first: the states before the first token; zeros by default.
            lengths: how many tokens of each row are read, one at least; all by default.
            out, state: what the cells gave.
        """
        watching = current_observer()
        if watching is None:
            return out, state
        parts = ("input", "before", "cell_before", *LSTM_GATES, *GRU_GATES, "cell", "state")
        names = [f"{layer}.{part}" for layer, _ in self.layers() for part in parts]
        if not any(watching.wants(self, name) for name in names):
            return out, state
        if first is None:
            first = x.new_zeros(len(x), self.n_states * (1 + self.cells.bidirectional), self.d_hidden)
        numbers = torch.arange(x.shape[1], device=x.device).expand(len(x), -1)
        read = numbers < (x.shape[1] if lengths is None else lengths.clamp(min=1)[:, None])
        if any(watching.edits(self, name) for name in names):
            return self.write_out(x, first, read)
        with torch.no_grad():
            again, _ = self.write_out(x, first, read)
            tap(self, "recomputed", (again - out)[read].abs().max())
        return out, state

    def write_out(
        self, x: Float[Tensor, "B L d_in"], first: Float[Tensor, "B states d"], read: Bool[Tensor, "B L"]
    ) -> tuple[Float[Tensor, "B L d_out"], Float[Tensor, "B states d"]]:
        """The same by `cells.py`, token after token. Nothing is dropped between layers."""
        layers = self.layers()
        hidden, cells = list(first[:, : len(layers)].unbind(1)), list[Tensor | None]([None] * len(layers))
        if self.is_lstm:
            cells = list(first[:, len(layers) :].unbind(1))
        outputs: list[Tensor] = []
        for number, (address, ending) in enumerate(layers):
            hidden[number], cells[number], output = self._run(
                x, hidden[number], cells[number], read, address, self.weights(ending)
            )
            outputs.append(output)
            if len(outputs) == 1 + self.cells.bidirectional:  # both directions go into the next layer
                x, outputs = torch.cat(outputs, dim=-1), []
        return x, torch.stack([*hidden, *(cell for cell in cells if cell is not None)], dim=1)

    def _run(
        self, x: Tensor, h: Tensor, c: Tensor | None, read: Tensor, address: str, weights: CellWeights
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        """One layer in one direction: its last h and c, and its output for each token."""

        def show(name: str, value: Tensor) -> Tensor:
            return tap(self, f"{address}.{name}", value[:, None])[:, 0]

        times = range(x.shape[1])
        outputs = [h] * x.shape[1]
        for t in reversed(times) if address.endswith("backward") else times:
            real = read[:, t, None]
            x_t, h = show("input", x[:, t]), show("before", h)
            if c is None:
                h = torch.where(real, gru_step(x_t, h, weights, show), h)
            else:
                c = show("cell_before", c)
                new, cell = lstm_step(x_t, h, c, weights, show)
                c, h = show("cell", torch.where(real, cell, c)), torch.where(real, new, h)
            h = show("state", h)
            outputs[t] = h.masked_fill(~real, 0.0)
        return h, c, torch.stack(outputs, dim=1)

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
