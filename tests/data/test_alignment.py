"""Which word translates which: worked by hand, and that the likelihood never falls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.data.alignment import align, log_likelihood


def test_one_round_worked_by_hand():
    """Two pairs, "0 1" to "0 1" and "0" to "0", every word begun alike: each target word of the first is shared among
    0, 1 and none by thirds, that of the second between 0 and none by halves: p(0 | 0) = (1/3 + 1/2) / (2/3 + 1/2).
    """
    found = align([([0, 1], [0, 1]), ([0], [0])], 2, 2, rounds=1)
    assert dict(found.of(0)) == pytest.approx({0: 5 / 7, 1: 2 / 7})
    assert dict(found.of(1)) == pytest.approx({0: 1 / 2, 1: 1 / 2})
    assert dict(found.of(2)) == pytest.approx({0: 5 / 7, 1: 2 / 7})  # none stands in both pairs too


def test_words_that_occur_together_elsewhere_are_told_apart():
    """the house, the book, a book: nobody says which word is which, and it is found out."""
    the, house, book, a = range(4)
    pairs = [([the, house], [10, 11]), ([the, book], [10, 12]), ([a, book], [13, 12])] * 3
    lexicon = align(pairs, 4, 14, rounds=20)
    assert [lexicon.of(word)[0][0] for word in (the, house, book, a)] == [10, 11, 12, 13]
    assert lexicon.of(house)[0][1] > 0.9


SIDES = st.lists(st.integers(0, 4), max_size=5)
CORPORA = st.lists(st.tuples(SIDES, SIDES), min_size=1, max_size=12).filter(
    lambda pairs: any(a and b for a, b in pairs)
)


@given(CORPORA)
def test_for_every_corpus_each_word_s_translations_sum_to_one_and_the_likelihood_never_falls(pairs):
    lexicons = [align(pairs, 5, 5, rounds) for rounds in (1, 2, 5)]
    for lexicon in lexicons:
        whole = np.bincount(lexicon.source, lexicon.p, 6)
        assert np.allclose(whole[np.unique(lexicon.source)], 1)
    real = [pair for pair in pairs if all(pair)]
    likelihoods = [log_likelihood(real, lexicon, 5) for lexicon in lexicons]
    assert likelihoods == sorted(likelihoods) or np.allclose(np.diff(likelihoods), 0, atol=1e-9)


def test_parts_that_are_laid_out_one_by_one_give_the_same(monkeypatch):
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(0, 9, 4).tolist(), rng.integers(0, 9, 3).tolist()) for _ in range(50)]
    whole = align(pairs, 9, 9)
    monkeypatch.setattr("prosector.data.alignment.PAIRS", 7)
    parts = align(pairs, 9, 9)
    assert all(np.array_equal(one, two) for one, two in zip(whole[:2], parts[:2], strict=True))
    assert np.allclose(whole.p, parts.p)


@pytest.mark.parametrize("pairs", [[], [([], [1])], [([1], [])]])
def test_nothing_to_align(pairs):
    with pytest.raises(ValueError, match="no pair has words on both sides"):
        align(pairs, 3, 3)


@pytest.mark.parametrize("pair", [([3], [0]), ([0], [3]), ([-1], [0])])
def test_ids_of_other_tokenizers(pair):
    with pytest.raises(ValueError, match="other tokenizers"):
        align([pair], 3, 3)
