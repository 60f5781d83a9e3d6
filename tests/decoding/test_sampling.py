"""Sampling: filters on paper, and frequencies against the distribution."""

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.tiny import Constant, no_stutter, sources, tiny

from prosector.decoding import greedy, sample
from prosector.decoding.sampling import at_temperature, draw, generator_of, keep_top_k, keep_top_p
from prosector.text.special import EOS

P = torch.tensor([0.1, 0.4, 0.2, 0.3], dtype=torch.float64)


def kept(log_p):
    """The numbers of the words that are left."""
    return log_p.isfinite().nonzero().flatten().tolist()


def test_temperature_sharpens_and_flattens():
    """t = ½ squares the probabilities: 0.01, 0.16, 0.04, 0.09 of 0.30 together; a large t makes all alike."""
    assert at_temperature(P.log(), 0.5).exp().tolist() == pytest.approx([1 / 30, 16 / 30, 4 / 30, 9 / 30])
    assert at_temperature(P.log(), 1.0).exp().tolist() == pytest.approx(P.tolist())
    assert at_temperature(P.log(), 1e9).exp().tolist() == pytest.approx([0.25] * 4)
    assert at_temperature(P.log(), 1e-300).exp().tolist() == [0, 1, 0, 0]


def test_top_k_keeps_the_k_likeliest():
    assert kept(keep_top_k(P.log(), 1)) == [1]
    assert kept(keep_top_k(P.log(), 3)) == [1, 2, 3]
    assert kept(keep_top_k(P.log(), 9)) == [0, 1, 2, 3]
    assert kept(keep_top_k(torch.zeros(4), 2)) == [0, 1]


def test_top_p_keeps_the_fewest_that_reach_p():
    """0.4, 0.7, 0.9, 1.0 add up in the order of words 1, 3, 2, 0."""
    assert kept(keep_top_p(P.log(), 0.01)) == [1]
    assert kept(keep_top_p(P.log(), 0.39)) == [1]
    assert kept(keep_top_p(P.log(), 0.5)) == [1, 3]
    assert kept(keep_top_p(P.log(), 0.71)) == [1, 2, 3]
    assert kept(keep_top_p(P.log(), 1.0)) == [0, 1, 2, 3]


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=10), st.floats(0.01, 1))
def test_for_every_distribution_the_nucleus_reaches_p_and_not_without_its_least(scores, p):
    log_p = torch.tensor(scores, dtype=torch.float64).log_softmax(-1)
    nucleus = log_p[kept(keep_top_p(log_p, p))].exp()
    assert nucleus.sum() >= p - 1e-9
    assert nucleus.sum() - nucleus.min() < p + 1e-9
    assert nucleus.min() >= log_p.exp().sort(descending=True).values[len(nucleus) - 1]


def test_a_chance_falls_into_a_words_share():
    """Shares of none, ¼, ½, none and ¼, end to end: [0, ¼) [¼, ¾) [¾, 1)."""
    log_p = torch.tensor([0, 0.25, 0.5, 0, 0.25]).log().expand(6, -1)
    chances = torch.tensor([0, 0.24, 0.26, 0.74, 0.76, 1 - 2**-53], dtype=torch.float64)
    assert draw(log_p, chances).tolist() == [1, 1, 2, 2, 4, 4]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [0.1, 0.4, 0.2, 0.3]),
        ({"temperature": 0.5}, [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
        ({"top_k": 3}, [0, 4 / 9, 2 / 9, 3 / 9]),
        ({"top_p": 0.6}, [0, 4 / 7, 0, 3 / 7]),
        ({"temperature": 0.5, "top_k": 3, "top_p": 0.8}, [0, 16 / 25, 0, 9 / 25]),  # 16, 9 and 4 of 29
        ({"rule": lambda source, written: [4]}, [1 / 6, 0, 2 / 6, 3 / 6]),
    ],
)
def test_words_are_drawn_as_often_as_their_probability_says(filters, expected):
    """χ² of 10,000 draws of `<eos>`, 4, 5, 6 with p = 0.1, 0.4, 0.2, 0.3; 30 is passed once in 600,000 times."""
    n = 10_000
    model = Constant([0, 0, 0, 0.1, 0.4, 0.2, 0.3])
    src = torch.full((n, 1), 4)
    found = sample(model, src, 1, [torch.Generator().manual_seed(1)] * n, **filters)
    counts = torch.zeros(7)
    for one in found:
        counts[one.ids[0] if one.ids else EOS] += 1
    assert [count > 0 for count in counts[3:]] == [p > 0 for p in expected]
    chi_squared = sum((count - n * p) ** 2 / (n * p) for count, p in zip(counts[3:], expected, strict=True) if p > 0)
    assert chi_squared < 30


def test_each_word_has_a_chance_of_its_own():
    """Two words alike, drawn twice: 4 4, 4 5, 5 4 and 5 5 about a quarter of the time each."""
    n = 2000
    found = sample(Constant([0, 0, 0, 0, 1, 1]), torch.full((n, 1), 4), 2, [torch.Generator().manual_seed(1)] * n)
    for pair in itertools.product([4, 5], repeat=2):
        assert sum(tuple(one.ids) == pair for one in found) / n == pytest.approx(1 / 4, abs=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_for_every_model_cold_sampling_is_greedy(seed):
    model, src = tiny(seed), sources([7, 3, 5])
    generators = [torch.Generator().manual_seed(seed)] * 3
    cold = sample(model, src, 9, generators, temperature=1e-6, rule=no_stutter)
    assert cold == greedy(model, src, 9, rule=no_stutter)
    assert sample(model, src, 9, generators, top_k=1, rule=no_stutter) == cold


def test_a_seed_gives_the_same_again_and_another_seed_something_else():
    def drawn(seed):
        return sample(tiny(), sources([7] * 5), 9, [generator_of(seed, str(row)) for row in range(5)])

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_log_p_is_the_models_own():
    """However cold, the word that had p = ½ has log p = ln ½."""
    model = Constant([0, 0, 0, 0.3, 0.5, 0.2])
    [found] = sample(model, torch.tensor([[4]]), 1, [torch.Generator()], temperature=0.01)
    assert found.log_p == pytest.approx(math.log(0.5))


def test_every_row_needs_its_chance():
    with pytest.raises(ValueError, match="1 generators for 2 rows"):
        sample(Constant([1.0] * 5), torch.tensor([[4], [4]]), 3, [torch.Generator()])
