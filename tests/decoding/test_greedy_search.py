"""Greedy decoding: the likeliest word, until `<eos>` or the longest length."""

import math

import pytest
import torch
from tests.decoding.tiny import Constant, Copyist, no_stutter, sources, tiny

from prosector.decoding import greedy
from prosector.text.special import EOS


def test_the_likeliest_word_again_and_again():
    """p = ½ for word 4: three words of it, then the end is still not the likeliest, so the target is cut."""
    model = Constant([0, 0, 0, 0.3, 0.5, 0.2])
    [found] = greedy(model, torch.tensor([[4, EOS]]), max_length=3)
    assert found.ids == [4, 4, 4]
    assert not found.finished
    assert found.log_p == pytest.approx(3 * math.log(0.5))
    assert found.score == pytest.approx(math.log(0.5))


def test_the_end_counts():
    """After 4 and 5 are forbidden comes `<eos>`, with p = 0.3 among all words: (ln 0.5 + ln 0.3) / 2."""
    model = Constant([0, 0, 0, 0.3, 0.5, 0.2])
    [found] = greedy(
        model, torch.tensor([[4, EOS]]), max_length=3, rule=lambda source, written: [4, 5] if written else []
    )
    assert found.ids == [4]
    assert found.finished
    assert found.score == pytest.approx((math.log(0.5) + math.log(0.3)) / 2)


def test_of_equal_words_the_first_and_never_a_special_one():
    [found] = greedy(Constant([1.0] * 8), torch.tensor([[4]]), max_length=2, rule=lambda source, written: [EOS, 4])
    assert found.ids == [5, 5]


def test_a_target_of_the_longest_length_may_end_by_itself():
    src = torch.tensor([[4, 5, EOS]])
    assert greedy(Copyist(6), src, max_length=2)[0].finished
    assert not greedy(Copyist(6), src, max_length=1)[0].finished
    assert greedy(Copyist(6), src, max_length=1)[0].ids == [4]


def test_each_row_has_its_own_longest_length():
    src = sources([9, 9, 9])
    found = greedy(Copyist(9), src, max_length=[2, 0, 20])
    assert [row.ids for row in found] == [src[0, :2].tolist(), [], src[2, :8].tolist()]
    with pytest.raises(ValueError, match="2 numbers for 3 sources"):
        greedy(Copyist(9), src, max_length=[1, 2])


@pytest.mark.parametrize("seed", range(5))
def test_for_every_model_each_word_is_the_likeliest(seed):
    model, src = tiny(seed), sources([6])
    [found] = greedy(model, src, 12, rule=no_stutter)
    written = [*found.ids, *[EOS] * found.finished]
    logits = model(src, torch.tensor([[2, *found.ids]]))[0]
    for position, token in enumerate(written):
        allowed = {3, 4, 5, 6, 7, 8} - set(no_stutter(0, written[:position]))
        assert token == max(allowed, key=lambda other: logits[position, other].item())
