"""Recurrent layers: cells against their formulas, padding anywhere, and a state that goes on."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import Watch, watching

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


# --- what an observer sees ---------------------------------------------------------------------------------------


def network(cell, bidirectional):
    torch.manual_seed(0)
    return Recurrent(cell, 4, 5, n_layers=2, dropout=0.0, bidirectional=bidirectional).double().requires_grad_(False)


def padded():
    """Rows of 4, 2 and 1 real tokens; in the second the padding stands in front."""
    x = torch.randn(3, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return x, torch.tensor([[1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0]]).bool()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_written_out_it_is_pytorchs_and_watched_it_stays_so_to_the_bit(cell, bidirectional):
    module = network(cell, bidirectional)
    alone = module.read(*padded())
    with watching(Watch()) as watch:
        watched = module.read(*padded())

    assert all(map(torch.equal, alone, watched))
    assert watch.values(module, "recomputed")[0] < 1e-12
    with watching(Watch({(module, "0.input"): lambda x: x})):  # an edit that changes nothing takes the written-out way
        edited = module.read(*padded())
    torch.testing.assert_close(edited, alone, rtol=0, atol=1e-12)
    torch.testing.assert_close(watch.values(module, "1.state")[-1][:, 0], alone[1][:, 2 if bidirectional else 1])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_later_part_is_watched_alike(cell):
    module = network(cell, False)
    x = padded()[0]
    with watching(Watch()) as watch:
        _, state = module.go_on(x[:, :2], torch.zeros(3, module.n_states, 5, dtype=torch.float64))
        out, _ = module.go_on(x[:, 2:], state)
    assert max(watch.values(module, "recomputed")) < 1e-12
    torch.testing.assert_close(torch.cat(watch.values(module, "1.state")[2:], dim=1), out)


def test_an_edited_gate_reaches_the_output_and_what_is_read_later():
    module = network("lstm", False)
    with watching(Watch({(module, "1.output_gate"): torch.zeros_like})):
        out, _ = module.read(*padded())
    assert out.abs().max() == 0
    shut = [f"{layer}.{gate}_gate" for layer in (0, 1) for gate in ("input", "forget")]
    with watching(Watch({(module, name): torch.zeros_like for name in shut})):
        _, state = module.read(*padded())
    assert state.abs().max() == 0
