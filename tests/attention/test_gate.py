"""The attention gate: a coefficient in 0..1 at every place, and what it lets through."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.attention import AttentionGate
from prosector.observe import observe

small = st.integers(1, 5)


@given(small, small, small, small, st.integers(1, 9), st.integers(1, 9), st.integers(0, 99))
def test_for_every_size_there_is_a_coefficient_at_every_place(d_x, d_g, h, w, height, width, seed):
    torch.manual_seed(seed)
    gate, x, g = AttentionGate(d_x, d_g), torch.randn(2, d_x, height, width), torch.randn(2, d_g, h, w)
    with torch.no_grad(), observe(gate) as seen:
        out = gate(x, g)
    coefficients = seen["coefficients"]
    assert coefficients.shape == (2, 1, height, width)
    assert ((coefficients > 0) & (coefficients < 1)).all()
    torch.testing.assert_close(out, x * coefficients, rtol=0, atol=0)


@given(st.integers(0, 99))
def test_a_coefficient_is_what_loops_compute(seed):
    """With both at one resolution: σ(ψᵀ ReLU(W_x x + W_g g + b_g) + b)."""
    torch.manual_seed(seed)
    gate, x, g = AttentionGate(3, 2).double(), torch.randn(1, 3, 2, 2).double(), torch.randn(1, 2, 2, 2).double()
    with torch.no_grad(), observe(gate) as seen:
        gate(x, g)
    for i in range(2):
        for j in range(2):
            total = gate.bias.item()
            for a in range(1):  # half of three, rounded down
                inner = gate.g.bias[a].item()
                inner += sum(gate.x.weight[a, c, 0, 0].item() * x[0, c, i, j].item() for c in range(3))
                inner += sum(gate.g.weight[a, c, 0, 0].item() * g[0, c, i, j].item() for c in range(2))
                total += gate.psi[a].item() * max(inner, 0.0)
            wanted = 1 / (1 + torch.tensor(-total, dtype=torch.float64).exp())
            torch.testing.assert_close(seen["coefficients"][0, 0, i, j], wanted, rtol=0, atol=1e-12)


def test_a_closed_gate_lets_nothing_pass_and_an_open_one_all():
    gate, x, g = AttentionGate(2, 2), torch.randn(1, 2, 4, 4), torch.randn(1, 2, 2, 2)
    with torch.no_grad():
        gate.psi.zero_()
        for bias, share in ((-1e4, 0.0), (0.0, 0.5), (1e4, 1.0)):
            gate.bias.fill_(bias)
            torch.testing.assert_close(gate(x, g), share * x, rtol=0, atol=0)
