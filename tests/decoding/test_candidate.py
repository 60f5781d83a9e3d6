"""Several pieces' candidates put together."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.decoding.candidate import Candidate, distinct, put_together


def test_the_best_whole_is_each_pieces_best():
    """Means: (-1 - 2) / 2, (-1.5 - 2) / 2, (-1 - 4) / 2, (-1.5 - 4) / 2."""
    first = [Candidate("A", -1.0, True), Candidate("a", -1.5, True)]
    second = [Candidate("B", -2.0, True), Candidate("b", -4.0, False)]
    wholes = put_together([first, second], [" ", "\n"], n=4)
    assert [whole.text for whole in wholes] == ["A B\n", "a B\n", "A b\n", "a b\n"]
    assert [whole.score for whole in wholes] == [-1.5, -1.75, -2.5, -2.75]
    assert [whole.finished for whole in wholes] == [True, True, False, False]


def test_nothing_is_put_together_to_nothing():
    assert put_together([], [], n=3) == [Candidate("", 0.0, True)]


@given(st.lists(st.lists(st.integers(-9, 0), min_size=1, max_size=4), min_size=1, max_size=4), st.integers(1, 5))
def test_for_every_pieces_no_better_whole_is_missed(scores, n):
    pieces = [[Candidate(f"{i}", float(score), True) for i, score in enumerate(some)] for some in scores]
    every = sorted((sum(some) / len(scores) for some in itertools.product(*scores)), reverse=True)
    found = put_together(pieces, ["."] * len(pieces), n)
    assert [whole.score for whole in found] == pytest.approx(every[:n])


def test_the_same_text_is_offered_once():
    assert distinct([Candidate("a", -1, True), Candidate("b", -2, True), Candidate("a", -3, True)]) == [
        Candidate("a", -1, True),
        Candidate("b", -2, True),
    ]
