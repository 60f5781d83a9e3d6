"""Recurrent layers: cells against their formulas, padding anywhere, and a state that goes on."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.blocks import Recurrent, RecurrentCache

cells = st.sampled_from(["lstm", "gru"])
small = st.integers(1, 4)


def by_hand(recurrent, x, state):
    """One layer, one token after another, from the formulas."""
    w_ih, w_hh, b_ih, b_hh = (
        getattr(recurrent.cells, f"{name}_l0") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    h, c = state, state
    for token in x:
        of_input, of_state = w_ih @ token + b_ih, w_hh @ h + b_hh
        if recurrent.is_lstm:
            i, f, g, o = (of_input + of_state).chunk(4)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        else:
            (r, z, n), (r_h, z_h, n_h) = of_input.chunk(3), of_state.chunk(3)
            update = (z + z_h).sigmoid()
            h = (1 - update) * (n + (r + r_h).sigmoid() * n_h).tanh() + update * h
    return torch.stack([h, c]) if recurrent.is_lstm else h[None]


@given(cells, small, small, small, st.integers(0, 99))
def test_the_cells_are_their_formulas(cell, length, d_in, d_hidden, seed):
    torch.manual_seed(seed)
    recurrent, x = Recurrent(cell, d_in, d_hidden, 1, 0.0).double(), torch.randn(length, d_in).double()
    _, state = recurrent.read(x[None], torch.ones(1, length, dtype=torch.bool))
    wanted = by_hand(recurrent, x, torch.zeros(d_hidden).double())
    torch.testing.assert_close(state[0], wanted, rtol=0, atol=1e-12)


@given(
    cells,
    st.booleans(),
    st.integers(1, 3),
    st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_for_every_padding_wherever_it_stands_it_is_as_if_it_were_not_there(cell, both_ways, n_layers, real, seed):
    torch.manual_seed(seed)
    recurrent = Recurrent(cell, 3, 4, n_layers, 0.0, bidirectional=both_ways).double()
    real = torch.tensor(real)
    x = torch.randn(*real.shape, 3).double()
    out, state = recurrent.read(x, real)
    assert (out[~real] == 0).all()
    for row in range(len(real)):
        if not real[row].any():
            assert (state[row] == 0).all()
            continue
        alone, its_state = recurrent.read(
            x[row, real[row]][None], torch.ones(1, int(real[row].sum()), dtype=torch.bool)
        )
        torch.testing.assert_close(out[row, real[row]], alone[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(state[row], its_state[0], rtol=0, atol=1e-12)


@given(cells, st.integers(1, 3), small, small, st.integers(0, 99))
def test_going_on_from_a_state_is_reading_on(cell, n_layers, first, second, seed):
    torch.manual_seed(seed)
    recurrent = Recurrent(cell, 3, 4, n_layers, 0.0).double()
    x = torch.randn(2, first + second, 3).double()
    whole, last = recurrent.read(x, torch.ones(2, first + second, dtype=torch.bool))
    _, state = recurrent.read(x[:, :first], torch.ones(2, first, dtype=torch.bool))
    out, state = recurrent.go_on(x[:, first:], state)
    torch.testing.assert_close(out, whole[:, first:], rtol=0, atol=1e-12)
    torch.testing.assert_close(state, last, rtol=0, atol=1e-12)
    torch.testing.assert_close(recurrent.top(state), out[:, -1], rtol=0, atol=0)


def test_an_lstm_remembers_at_first():
    """Its forget gate begins at σ(1) = 0.73 where nothing is read, the others at σ(0)."""
    recurrent = Recurrent("lstm", 2, 3, 2, 0.0)
    for layer in range(2):
        bias = getattr(recurrent.cells, f"bias_ih_l{layer}") + getattr(recurrent.cells, f"bias_hh_l{layer}")
        assert bias.tolist() == [0] * 3 + [1] * 3 + [0] * 6


@pytest.mark.parametrize("cell, n_states", [("lstm", 4), ("gru", 2)])
def test_a_cache_is_reordered(cell, n_states):
    assert Recurrent(cell, 2, 3, 2, 0.0).n_states == n_states
    cache = RecurrentCache()
    cache.select(torch.tensor([0]))  # nothing is there yet
    cache.keep(torch.arange(6.0).reshape(3, 1, 2), 4)
    cache.keys = torch.arange(3.0)[:, None, None]
    cache.select(torch.tensor([2, 0, 0]))
    assert len(cache) == 4
    assert cache.state[:, 0].tolist() == [[4, 5], [0, 1], [0, 1]]
    assert cache.keys.flatten().tolist() == [2, 0, 0]
