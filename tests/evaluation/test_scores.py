"""BLEU and chrF: by sacrebleu, signed, Chinese by its characters."""

import pytest

from prosector.evaluation.scores import score


def test_a_perfect_translation_scores_a_hundred():
    scores = score(["I like deep learning .", "It rains ."], ["I like deep learning .", "It rains ."], "en")
    assert scores.bleu == pytest.approx(100)
    assert scores.chrf == pytest.approx(100)


def test_chinese_is_cut_into_characters():
    """我喜欢深度学习。 against 我喜欢机器学习。: 6 of 8 characters, 4 of 7 pairs, 2 of 6 triples, 0 of 5 fours."""
    one = ["我喜欢深度学习。"], ["我喜欢机器学习。"]
    assert score(*one, "zh").bleu > 5 * score(*one, "en").bleu
    assert "tok:zh" in score(*one, "zh").bleu_signature
    assert "tok:13a" in score(*one, "en").bleu_signature


def test_a_figure_is_signed():
    scores = score(["a"], ["a"], "en")
    assert "version:" in scores.bleu_signature
    assert "version:" in scores.chrf_signature
    assert "nw:0" in scores.chrf_signature


@pytest.mark.parametrize(("hypotheses", "references"), [(["a"], ["a", "b"]), ([], [])])
def test_each_translation_needs_a_reference(hypotheses, references):
    with pytest.raises(ValueError, match=f"{len(hypotheses)} translations and {len(references)} references"):
        score(hypotheses, references, "en")
