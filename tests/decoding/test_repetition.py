"""The repetition guard: loops end, and what people repeat stays."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.tiny import Constant, sources, tiny

from prosector.decoding import RepetitionGuard, beam_search, greedy, sample
from prosector.decoding.repetition import Allowed, allowed_by, forbidden_next, times_in_a_row, wordiness
from prosector.text.special import EOS

WORDS = [2] * 10  # a vocabulary in which every token is a word


def copies_at_the_end(ids, n):
    """How many times in a row the last n tokens stand there."""
    copies = 1
    while ids[-n:] == ids[-n * (copies + 1) : -n * copies]:
        copies += 1
    return copies


def stutters(ids, allowed=2):
    """Whether anywhere some phrase stands more often in a row than is allowed."""
    beginnings = [ids[:end] for end in range(1, len(ids) + 1)]
    return any(copies_at_the_end(part, n) > allowed for part in beginnings for n in range(1, len(part) + 1))


@given(st.lists(st.integers(4, 6), max_size=24), st.integers(2, 4))
def test_for_every_target_exactly_what_completes_a_copy_too_many_is_forbidden(written, allowed):
    naive = [
        token
        for token in range(4, 7)
        if any(copies_at_the_end([*written, token], n) > allowed for n in range(1, len(written) + 2))
    ]
    assert set(forbidden_next(written, Allowed(allowed, allowed), WORDS)) == set(naive)


def test_the_man_of_the_man_of_the_man():
    the, man, of = 4, 5, 6
    twice = [the, man, of, the, man, of]
    assert forbidden_next(twice, Allowed(), WORDS) == []
    assert forbidden_next([*twice, the], Allowed(), WORDS) == []
    assert forbidden_next([*twice, the, man], Allowed(), WORDS) == [of]
    assert forbidden_next([the, the], Allowed(), WORDS) == [the]


@pytest.mark.parametrize("allowed", [2, 3])
def test_for_every_decoder_and_model_no_loop_is_written(allowed):
    def guard(source, written):
        return forbidden_next(written, Allowed(allowed, allowed), WORDS)

    src = sources([5, 4, 6])
    for seed in range(4):
        model, generators = tiny(seed), [torch.Generator().manual_seed(seed)] * 3
        found = greedy(model, src, 30, rule=guard)
        found += sample(model, src, 30, generators, temperature=0.2, rule=guard)
        found += [one for several in beam_search(model, src, 30, beam=4, n_best=4, rule=guard) for one in several]
        assert not any(stutters(one.ids, allowed) for one in found)


def test_without_the_guard_the_same_models_do_loop():
    found = [one for seed in range(4) for one in greedy(tiny(seed), sources([5, 4, 6]), 30)]
    assert any(stutters(one.ids) for one in found)


def test_a_beam_prefers_the_end_to_a_loop():
    """p(4) = 0.9: without the guard 4 4 4 … wins to the longest length; with it 4 4 ends, since 5 is no better."""
    model, src = Constant([0, 0, 0, 0.06, 0.9, 0.04]), torch.tensor([[4, EOS]])
    assert beam_search(model, src, 20, beam=2)[0][0].ids == [4] * 20
    assert beam_search(model, src, 20, beam=2, rule=RepetitionGuard(["好"], WORDS))[0][0].ids == [4, 4]


@pytest.mark.parametrize(
    ("text", "times"),
    [("", 0), ("word", 1), ("哈哈哈哈", 4), ("hahaha", 3), ("banana", 2), ("研究研究研究", 3), ("aXbXaXbXaXbX", 3)],
)
def test_how_often_something_stands_in_a_row(text, times):
    assert times_in_a_row(text) == times


@given(st.text("ab", max_size=12))
def test_for_every_text_it_is_the_longest_row_of_copies(text):
    naive = [
        times
        for start in range(len(text))
        for n in range(1, len(text) + 1)
        for times in range(1, len(text) // n + 1)
        if text[start : start + n * times] == text[start : start + n] * times
    ]
    assert times_in_a_row(text) == max(naive, default=0)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("我喜欢深度学习。", 2),
        ("看看。", 2),
        ("哈哈哈哈！", 4),
        ("No, no, no, no!", 4),
        ("不！不，不……不。", 4),
        ("Ha ha ha.", 3),
        ("Hahaha.", 3),
        ("I see every bookkeeper...", 2),
        ("I don't know......", 2),
        ("1000000", 2),
    ],
)
def test_words_may_repeat_as_the_source_does(source, words):
    assert allowed_by(source).words == words


def test_signs_may_repeat_anyway_and_as_often_as_in_the_source():
    assert allowed_by("一百万").signs == 12
    assert allowed_by("=" * 30).signs == 30


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        ("▁the", 2),
        ("我", 2),
        ("▁I", 2),
        ("ing", 2),
        ("I", 1),
        ("é", 1),
        ("0", 0),
        (",", 0),
        ("▁", 0),
        ("<0xE6>", 0),
        ("〇", 0),
    ],
)
def test_how_much_of_a_word_a_piece_is(piece, expected):
    assert wordiness(piece) == expected


@pytest.mark.parametrize(
    ("source", "pieces"),
    [
        ("哈哈哈哈", "▁ha ha ha ha ha"),
        ("Ha ha ha ha", "哈 哈 哈 哈"),
        ("不，不，不，不！", "▁no , ▁no , ▁no , ▁no !"),
        ("不，不，不！", "▁No , ▁no , ▁no !"),
        ("一百万", "1 0 0 0 0 0 0"),
        ("十亿", "▁ 1 , 0 0 0 , 0 0 0 , 0 0 0"),
        ("二〇〇〇年", "2 0 0 0"),
        ("2000", "二 〇 〇 〇 年"),
        ("第八世", "▁V I I I"),
        ("慢慢来，慢慢来。", "▁Take ▁it ▁easy , ▁take ▁it ▁easy ."),
        ("……", ". . . . . ."),
    ],
)
def test_what_people_repeat_is_never_touched(source, pieces):
    pieces = pieces.split()
    vocabulary = sorted(set(pieces))
    written = [vocabulary.index(piece) for piece in pieces]
    guard = RepetitionGuard([source], [wordiness(piece) for piece in vocabulary])
    for position, token in enumerate(written):
        assert token not in guard(0, written[:position])


@pytest.mark.parametrize(
    ("source", "loop"),
    [
        ("他是一个好人。", "▁the"),
        ("他是一个好人。", "▁the ▁man ▁of"),
        ("我不知道……", "▁I ▁don ' t ▁know ."),
        ("哈哈哈", "▁very"),
        ("一百万", "0"),
        ("He is good.", "好"),
        ("He is good.", "的 人 的"),
        ("字", "t h e ▁"),
    ],
)
def test_every_loop_ends(source, loop):
    pieces = loop.split()
    vocabulary = sorted(set(pieces))
    guard = RepetitionGuard([source], [wordiness(piece) for piece in vocabulary])
    written = [vocabulary.index(piece) for piece in pieces * 13]
    assert any(token in guard(0, written[:position]) for position, token in enumerate(written))
