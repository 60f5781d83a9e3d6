"""The learning rate: up to the peak, and down as each formula says."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.config.training import TrainingConfig
from prosector.training.schedule import inverse_sqrt, learning_rate, linear, noam

warmups = st.integers(1, 5000)
steps = st.integers(1, 100_000)


@given(warmups, steps)
def test_inverse_sqrt_has_its_peak_where_the_warm_up_ends(warmup, step):
    peak = 1e-3
    assert inverse_sqrt(warmup, peak, warmup) == peak
    assert inverse_sqrt(step, peak, warmup) <= peak
    assert inverse_sqrt(1, peak, warmup) == pytest.approx(peak / warmup)


@given(warmups, st.integers(1, 100))
def test_inverse_sqrt_falls_with_the_root_of_the_step(warmup, times):
    assert inverse_sqrt(warmup * times, 1.0, warmup) == pytest.approx(times**-0.5)


@pytest.mark.parametrize(
    "step, rate",
    [(1, 1.7469e-07), (1000, 1.7469e-04), (4000, 6.9877e-04), (16000, 3.4939e-04), (100_000, 1.3975e-04)],
)
def test_noam_is_equation_3_of_2017(step, rate):
    """512^-½ · min(s^-½, s · 4000^-3/2), the paper's own sizes."""
    assert noam(step, 1.0, d_model=512, warmup=4000) == pytest.approx(rate, rel=1e-4)


@given(warmups, steps, st.integers(1, 2048))
def test_noam_is_inverse_sqrt_with_a_peak_that_the_sizes_give(warmup, step, d_model):
    peak = 2.0 * d_model**-0.5 * warmup**-0.5
    assert noam(step, 2.0, d_model, warmup) == pytest.approx(inverse_sqrt(step, peak, warmup))


@given(st.integers(0, 500), st.integers(1, 500))
def test_linear_goes_up_to_the_peak_and_straight_down_to_nothing(warmup, after):
    total = warmup + after
    rates = [linear(step, 1.0, warmup, total) for step in range(1, total + 2)]
    differences = [round(later - earlier, 9) for earlier, later in pairwise(rates)]
    assert rates[-1] == 0  # one step after the last
    assert rates[-2] > 0  # the last is small, but not lost
    if warmup:
        assert rates[warmup - 1] == max(rates) == 1
        assert all(d == pytest.approx(1 / warmup, abs=1e-8) for d in differences[: warmup - 1])
    assert all(d == pytest.approx(-1 / (after + 1), abs=1e-8) for d in differences[warmup:])


@given(steps)
def test_without_a_warm_up_it_begins_at_the_top(step):
    assert inverse_sqrt(1, 1e-3, 0) == 1e-3
    assert inverse_sqrt(step, 1e-3, 0) == pytest.approx(1e-3 * step**-0.5)
    assert linear(1, 1e-3, 0, 100) == pytest.approx(1e-3, rel=0.01)
    assert noam(1, 1.0, 64, 0) == 1 / 8


@pytest.mark.parametrize("step", [1, 10, 30])
def test_a_config_names_its_schedule(step):
    configs = [
        TrainingConfig(schedule=kind, steps=40, warmup=10, learning_rate=0.5)
        for kind in ("noam", "inverse-sqrt", "linear")
    ]
    rates = {config.schedule: learning_rate(config, step, 64) for config in configs}
    assert rates == {
        "noam": noam(step, 0.5, 64, 10),
        "inverse-sqrt": inverse_sqrt(step, 0.5, 10),
        "linear": linear(step, 0.5, 10, 40),
    }
