"""The interval of a BLEU: its sums are sacrebleu's, and it is as wide as the statistics say."""

import pytest
import torch

from prosector.evaluation.intervals import bleu_of, matches, mean_bleu_interval
from prosector.evaluation.scores import score

ENGLISH = ["I like deep learning .", "Where is the station ?", "She has been waiting for an hour .", "Good ."]
WRITTEN = ["I like learning deep .", "Where is the train station ?", "She has waited for an hour .", "Good ."]
CHINESE = ["我喜欢深度学习。", "车站在哪儿？", "她已经等了一个小时了。", "好。"]
GUESSED = ["我喜欢学习。", "车站在哪里？", "她等了一个小时。", "好。"]


@pytest.mark.parametrize(("written", "wanted", "language"), [(WRITTEN, ENGLISH, "en"), (GUESSED, CHINESE, "zh")])
def test_added_over_all_sentences_it_is_the_corpus_bleu(written: list[str], wanted: list[str], language: str) -> None:
    added = matches(written, wanted, language).sum(0)
    assert bleu_of(added) == pytest.approx(score(written, wanted, language).bleu, abs=1e-9)


def test_the_interval_holds_the_figure_and_narrows_with_the_sentences() -> None:
    few, many = matches(WRITTEN * 5, ENGLISH * 5, "en"), matches(WRITTEN * 80, ENGLISH * 80, "en")
    narrow, wide = mean_bleu_interval([many], 400), mean_bleu_interval([few], 400)
    figure = bleu_of(few.sum(0))
    assert wide.low < narrow.low < figure < narrow.high < wide.high
    ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
    assert 3 < ratio < 5  # a sixteenth of the sentences: four times as wide


def test_runs_are_resampled_together() -> None:
    rows = matches(WRITTEN * 5, ENGLISH * 5, "en")
    assert mean_bleu_interval([rows, rows], 100) == mean_bleu_interval([rows], 100)


def test_the_same_seed_gives_the_same_interval() -> None:
    rows = matches(WRITTEN * 5, ENGLISH * 5, "en")
    assert mean_bleu_interval([rows], 50, seed=3) == mean_bleu_interval([rows], 50, seed=3)
    assert mean_bleu_interval([rows], 50, seed=3) != mean_bleu_interval([rows], 50, seed=4)


def test_what_has_no_reference_is_an_error() -> None:
    with pytest.raises(ValueError, match="2 translations and 1 references"):
        matches(["a", "b"], ["a"], "en")


def test_rows_are_whole_numbers_of_ngrams() -> None:
    assert matches(["a b c"], ["a b d"], "en").tolist() == [[2, 1, 0, 0, 3, 2, 1, 0, 3, 3]]
    assert matches(["a b c"], ["a b d"], "en").dtype == torch.long
