"""A cell's step written out is PyTorch's, and its gates do what they are called."""

import pytest
import torch
from torch import nn

from prosector.blocks.cells import GRU_GATES, LSTM_GATES, CellWeights, gru_step, lstm_step


def weights_of(cell):
    return CellWeights(cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)


def problem(n_states):
    return [torch.randn(3, size, dtype=torch.float64) for size in (4, *[5] * n_states)]


def as_it_is(name, value):
    return value


def fixed(**gates):
    """Some gates at a number."""
    return lambda name, value: torch.full_like(value, gates[name]) if name in gates else value


def test_an_lstm_step_is_pytorchs():
    cell = nn.LSTMCell(4, 5).double()
    x, h, c = problem(2)
    torch.testing.assert_close(lstm_step(x, h, c, weights_of(cell), as_it_is), cell(x, (h, c)), rtol=0, atol=1e-12)


def test_a_gru_step_is_pytorchs():
    cell = nn.GRUCell(4, 5).double()
    x, h = problem(1)
    torch.testing.assert_close(gru_step(x, h, weights_of(cell), as_it_is), cell(x, h), rtol=0, atol=1e-12)


def test_every_gate_is_shown_once():
    for cell, gates, step in ((nn.LSTMCell, LSTM_GATES, lstm_step), (nn.GRUCell, GRU_GATES, gru_step)):
        shown = {}
        step(*problem(1 + (step is lstm_step)), weights_of(cell(4, 5).double()), shown.setdefault)
        assert sorted(shown) == sorted(gates)


def test_with_an_open_forget_gate_and_a_shut_input_gate_nothing_is_forgotten():
    x, h, c = problem(2)
    weights = weights_of(nn.LSTMCell(4, 5).double())
    new, kept = lstm_step(x, h, c, weights, fixed(forget_gate=1.0, input_gate=0.0, output_gate=1.0))
    assert torch.equal(kept, c)
    assert torch.equal(new, c.tanh())


def test_a_gru_whose_update_gate_is_open_keeps_its_past_and_shut_takes_the_candidate():
    x, h = problem(1)
    weights = weights_of(nn.GRUCell(4, 5).double())
    assert torch.equal(gru_step(x, h, weights, fixed(update_gate=1.0)), h)
    assert (gru_step(x, h, weights, fixed(update_gate=0.0, candidate=0.25)) == 0.25).all()


def test_an_lstm_step_by_hand():
    """All weights 0, so every gate is σ(0) = ½ and the candidate 0: half of the cell is left, and half of its tanh."""
    zeros = CellWeights(torch.zeros(4, 1), torch.zeros(4, 1), torch.zeros(4), torch.zeros(4))
    h, c = lstm_step(torch.ones(1, 1), torch.ones(1, 1), torch.full((1, 1), 2.0), zeros, as_it_is)
    assert (c.item(), h.item()) == (1.0, pytest.approx(0.5 * 0.76159, abs=1e-5))
