"""Sinusoids: each pair of features is the hand of a clock, each slower than the one before."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import SinusoidalPosition, angles, inverse_frequencies, sinusoid

layouts = st.sampled_from(["interleaved", "half-split"])


def test_four_features_of_positions_zero_and_one():
    """Two clocks: one turns by 1 radian a position, the other by 1/10000^(2/4) = 0.01."""
    first, second = sinusoid(torch.arange(2), 4).tolist()
    assert first == [0, 1, 0, 1]  # sin 0, cos 0, sin 0, cos 0
    assert second == pytest.approx([0.8415, 0.5403, 0.0100, 0.99995], abs=5e-5)  # sin 1, cos 1, sin 0.01, cos 0.01


def test_the_two_layouts_hold_the_same_numbers():
    """Interleaved sin cos sin cos; half-split sin sin cos cos."""
    places = torch.arange(5)
    assert torch.equal(sinusoid(places, 6, "interleaved")[:, [0, 2, 4, 1, 3, 5]], sinusoid(places, 6, "half-split"))


def test_an_odd_width_leaves_the_last_sine_alone():
    """d = 5: angles n, n/10000^(2/5), n/10000^(4/5); sin cos sin cos sin, or three sines and two cosines."""
    a, b, c = (3 / 10000 ** (2 * j / 5) for j in range(3))
    place = torch.tensor([3])
    expected = [math.sin(a), math.cos(a), math.sin(b), math.cos(b), math.sin(c)]
    assert sinusoid(place, 5, "interleaved")[0].tolist() == pytest.approx(expected)
    expected = [math.sin(a), math.sin(b), math.sin(c), math.cos(a), math.cos(b)]
    assert sinusoid(place, 5, "half-split")[0].tolist() == pytest.approx(expected)


@given(st.integers(0, 5000), st.integers(1, 33))
def test_for_every_position_and_width_the_formula_of_the_paper_holds(n, d):
    code = sinusoid(torch.tensor([n]), d, dtype=torch.float64)[0].tolist()
    expected = [(math.cos if i % 2 else math.sin)(n / 10000 ** (2 * (i // 2) / d)) for i in range(d)]
    assert code == pytest.approx(expected, abs=1e-10)


@given(st.integers(0, 900), st.integers(0, 900), st.integers(0, 900), st.integers(1, 8), layouts)
def test_for_every_two_positions_the_product_of_their_codes_depends_on_distance_only(m, n, shift, half, layout):
    codes = sinusoid(torch.tensor([m, n, m + shift, n + shift]), 2 * half, layout, dtype=torch.float64)
    assert float(codes[0] @ codes[1]) == pytest.approx(float(codes[2] @ codes[3]), abs=1e-10)


def test_bfloat16_would_make_256_and_257_one_position():
    """In bfloat16, 257 is 256; as the angles are float32, the two stay apart, each the rounded true code."""
    assert torch.tensor(257).bfloat16() == 256
    places = torch.tensor([256, 257])
    marked = SinusoidalPosition().bfloat16().embed(torch.zeros(1, 2, 8, dtype=torch.bfloat16), places)
    assert marked.dtype == torch.bfloat16
    assert torch.equal(marked[0], sinusoid(places, 8).bfloat16())
    assert not torch.equal(marked[0, 0], marked[0, 1])
    assert angles(places, inverse_frequencies(8)).dtype == torch.float32


def test_double_precision_stays_double():
    place = torch.tensor([4000])
    marked = SinusoidalPosition().embed(torch.zeros(1, 1, 4, dtype=torch.float64), place)
    assert float(marked[0, 0, 2]) == pytest.approx(math.sin(40.0), abs=1e-12)


@given(layouts)
def test_for_every_row_with_padding_on_the_left_its_own_positions_count(layout):
    """Two rows, the second padded on the left by two: its third token is at position 0."""
    x = torch.randn(2, 4, 6)
    marked = SinusoidalPosition(layout).embed(x, torch.tensor([[0, 1, 2, 3], [0, 0, 0, 1]]))
    alone = SinusoidalPosition(layout).embed(x[1:, 2:], torch.arange(2))
    assert torch.equal(marked[1, 2:], alone[0])


def test_a_layout_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match="unknown layout 'halfsplit'; it is one of interleaved, half-split"):
        SinusoidalPosition("halfsplit")
