"""The n-gram model: probabilities that sum to one, and a case worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.evaluation.ngram import NGram, discount


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.integers(1, 5), st.lists(st.integers(0, 6), max_size=6))
def test_for_every_history_the_probabilities_sum_to_one(stream, n, history):
    model = NGram(stream, n, vocab=7)
    chances = [model.p(tuple(history), token) for token in range(7)]
    assert sum(chances) == pytest.approx(1)
    assert min(chances) > 0


def test_bigrams_by_hand():
    """a b a b a c, tokens 0, 1, 2 of three.

    Bigrams: ab 2, ba 2, ac 1; D₂ = 1 / (1 + 2·2) = 0.2
    Different tokens before each single one: a 1, b 1, c 1; D₁ = 1
    p(b) = max(1 - 1, 0)/3 + 1·3/3 · 1/3 = 1/3
    p(b | a) = (2 - 0.2)/3 + 0.2·2/3 · 1/3 = 0.6 + 0.0444 = 0.6444
    """
    model = NGram([0, 1, 0, 1, 0, 2], 2, vocab=3)
    assert model.discounts == [1.0, 0.2]
    assert model.p((), 1) == pytest.approx(1 / 3)
    assert model.p((0,), 1) == pytest.approx(0.6444, abs=5e-5)


def test_a_history_that_nobody_saw_is_shortened():
    model = NGram([0, 1, 0, 1, 0, 2], 3, vocab=4)
    assert model.p((3, 3), 1) == model.p((), 1)
    assert model.p((3, 0), 1) == model.p((0,), 1)


def test_nats_are_the_sum_over_the_stream():
    model = NGram([0, 1, 0, 1, 0, 2], 2, vocab=3)
    expected = -math.log(model.p((0,), 1)) - math.log(model.p((1,), 2))
    assert model.nats([0, 1, 2]) == pytest.approx(expected)


def test_longer_histories_know_more_of_what_repeats():
    stream = [0, 1, 2, 0, 3, 2] * 50
    surprises = [NGram(stream, n, 4).nats(stream) for n in (1, 2, 3)]
    assert surprises == sorted(surprises, reverse=True)
    assert discount([1, 1, 2]) == 0.5
