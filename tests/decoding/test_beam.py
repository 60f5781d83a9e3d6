"""Beam search against every possible target, against greedy decoding, and on paper."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.tiny import Constant, alone, every_target, no_stutter, sources, tiny

from prosector.decoding import beam_search, greedy
from prosector.decoding.beam import Running, best_possible_score, choose, likeliest_tokens
from prosector.decoding.hypothesis import length_normalised
from prosector.text.special import EOS

VOCAB, LONGEST = 7, 4  # three words: 1 + 3 + 9 + 27 + 81 targets


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_for_every_model_a_beam_that_holds_everything_finds_the_best(seed, alpha):
    model, src = tiny(seed, VOCAB), sources([5, 3], VOCAB, seed)
    found = beam_search(model, src, LONGEST, beam=3**5, alpha=alpha, n_best=6)
    for row, several in enumerate(found):
        targets = every_target(model, alone(src, row), LONGEST, VOCAB)
        scored = [(length_normalised(log_p, len(ids) + 1, alpha), ids) for ids, log_p in targets]
        expected = sorted(scored, reverse=True)[:6]
        assert [one.ids for one in several] == [ids for _, ids in expected]
        assert [one.score for one in several] == pytest.approx([score for score, _ in expected])


@pytest.mark.parametrize("seed", range(12))
def test_for_every_model_a_beam_of_one_is_greedy(seed):
    model, src = tiny(seed).float(), sources([7, 3, 5, 4, 6])
    for rule in (no_stutter, lambda source, written: ()):
        by_beam = beam_search(model, src, [12, 5, 3, 1, 0], beam=1, rule=rule)
        assert [found for [found] in by_beam] == greedy(model, src, [12, 5, 3, 1, 0], rule=rule)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("seed", range(4))
def test_for_every_model_the_best_are_sorted_distinct_and_the_same_however_many_are_asked_for(seed, alpha):
    model, src = tiny(seed), sources([6, 4, 5])
    five = beam_search(model, src, 9, beam=5, alpha=alpha, n_best=5, rule=no_stutter)
    one = beam_search(model, src, 9, beam=5, alpha=alpha, n_best=1, rule=no_stutter)
    for several, [best] in zip(five, one, strict=True):
        assert best == several[0]
        assert [found.score for found in several] == sorted((found.score for found in several), reverse=True)
        assert len({tuple(found.ids) for found in several}) == len(several)
        for found in several:
            assert found.score == length_normalised(found.log_p, len(found.ids) + found.finished, alpha)


def test_a_wider_beam_finds_what_greed_misses():
    """Greed takes 4 (p = ½) and then nothing is likely; after 5 (p = 0.4) the end is certain."""

    class Trap(Constant):
        def logits(self, hidden):
            after = {2: [0, 0, 0, 0.1, 0.5, 0.4], 4: [0, 0, 0, 0.2, 0.4, 0.4], 5: [0, 0, 0, 1, 0, 0]}
            return torch.tensor([after[token] for token in hidden.tolist()]).log()

    trap, src = Trap([1.0]), torch.tensor([[4, EOS]])
    assert greedy(trap, src, 2)[0].ids == [4, 4]
    [[best]] = beam_search(trap, src, 2, beam=2)
    assert best.ids == [5]
    assert best.log_p == pytest.approx(math.log(0.4))


def test_alpha_decides_between_short_and_long():
    """p(`<eos>`) = 0.3, p(4) = 0.7: alone the end has Σ log p = -1.2; 4 4 4 and the end -2.27, or -0.57 a token."""
    model, src = Constant([0, 0, 0, 0.3, 0.7]), torch.tensor([[4, EOS]])
    assert beam_search(model, src, 3, beam=4, alpha=0)[0][0].ids == []
    assert beam_search(model, src, 3, beam=4, alpha=1)[0][0].ids == [4, 4, 4]
    assert [one.ids for one in beam_search(model, src, 3, beam=4, n_best=4)[0]] == [[4, 4, 4], [4, 4], [4], []]


def test_what_is_cut_is_returned_only_if_nothing_is_finished():
    src = torch.tensor([[4, EOS]])
    [[cut]] = beam_search(Constant([0, 0, 0, 0.1, 0.5, 0.4]), src, 3, beam=1, n_best=3)
    assert (cut.ids, cut.finished) == ([4, 4, 4], False)
    [several] = beam_search(Constant([0, 0, 0, 0.3, 0.4, 0.3]), src, 1, beam=3, n_best=3)
    assert all(found.finished for found in several)


class Counting(Constant):
    """It counts how often it is asked."""

    steps = 0

    def logits(self, hidden):
        self.steps += 1
        return super().logits(hidden)


@pytest.mark.parametrize(("alpha", "beam", "steps"), [(0.0, 40, 1), (1.0, 40, 12), (1.0, 2, 2)])
def test_a_search_that_is_decided_takes_no_further_step(alpha, beam, steps):
    """p(`<eos>`) = 0.6, p(4) = 0.4. With α = 0 nothing that goes on can beat ln 0.6 = -0.51, the end at once.

    With α = 1, t words of 4 could still come to t · ln 0.4 / 21, as 20 is the longest: too little from t = 12 on.
    A beam of two holds the end and 4 after one step, the end (0.6) and 4 with the end (0.24) after two: both finished.
    """
    model = Counting([0, 0, 0, 0.6, 0.4])
    beam_search(model, torch.tensor([[4, EOS]]), 20, beam=beam, alpha=alpha)
    assert model.steps == steps


# --- the arithmetic ----------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 0), min_size=1, max_size=12), st.floats(0, 3), st.integers(0, 11), st.integers(0, 6))
def test_for_every_beginning_no_end_scores_more_than_the_bound(log_ps, alpha, begun, further):
    begun = min(begun, len(log_ps))
    longest = len(log_ps) - 1 + further  # the last of log_ps is `<eos>`'s
    bound = best_possible_score(sum(log_ps[:begun]), longest, alpha)
    assert length_normalised(sum(log_ps), len(log_ps), alpha) <= bound + 1e-12


def test_the_bound_is_reached_by_certain_words():
    """Σ log p = -3 so far; five more tokens of p = 1 up to the longest, 5 and `<eos>`: -3 / 6."""
    assert best_possible_score(-3.0, 5, alpha=1.0) == -0.5
    assert best_possible_score(-3.0, 5, alpha=0.0) == -3.0


@given(
    st.lists(st.lists(st.sampled_from([-1.0, -2.0, -3.0, -torch.inf]), min_size=5, max_size=5), min_size=1),
    st.integers(1, 7),
)
def test_for_every_table_the_likeliest_tokens_are_those_of_a_stable_sort(rows, k):
    expected = [
        [
            (token, row[token])
            for token in sorted(range(5), key=lambda token: -row[token])[:k]
            if row[token] > -torch.inf
        ]
        for row in rows
    ]
    assert likeliest_tokens(torch.tensor(rows), k) == expected


def test_the_finished_keep_their_place_by_their_probability():
    """Two beginnings at -1 and -2, one finished at -2.5: of -1.5, -2.1, -2.5, -4 a beam of 3 keeps three."""
    running = [Running([4], -1.0), Running([5], -2.0)]
    continuations = [[(6, -0.5), (EOS, -3.0)], [(7, -0.1)]]
    chosen, held = choose(running, continuations, held=[-2.5], k=3)
    assert [(parent, token) for parent, token, _ in chosen] == [(0, 6), (1, 7)]
    assert held == [-2.5]
    _, held = choose(running, continuations, held=[-2.5], k=2)
    assert held == []


def test_of_equal_hypotheses_the_earlier_stays():
    running = [Running([4], -1.0), Running([5], -1.0)]
    chosen, held = choose(running, [[(4, -1.0), (5, -1.0)], [(4, -1.0)]], held=[-2.0], k=3)
    assert held == [-2.0]
    assert [(parent, token) for parent, token, _ in chosen] == [(0, 4), (0, 5)]


@pytest.mark.parametrize("wrong", [{"beam": 0}, {"n_best": 0}, {"alpha": -1}])
def test_what_cannot_be_searched_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        beam_search(Constant([1.0] * 5), torch.tensor([[4]]), 3, **wrong)
