"""Loss and perplexity of the right words."""

import math

import pytest
import torch
from tests.decoding.tiny import log_p_of, tiny

from prosector.data.batching import pad
from prosector.evaluation.perplexity import Surprise, log_p_of_labels, surprise
from prosector.text.special import EOS


def test_log_p_of_the_labels_and_nothing_for_padding():
    """Logits ln 1, ln 2, ln 1 are p = ¼, ½, ¼."""
    logits = torch.tensor([1.0, 2.0, 1.0]).log().expand(1, 3, 3)
    found = log_p_of_labels(logits, torch.tensor([[1, 2, 0]]))
    assert found.tolist() == [pytest.approx([math.log(1 / 2), math.log(1 / 4), 0])]


def test_perplexity_is_the_number_of_words_alike():
    """Eight equally likely words: ln 8 nats a token, a perplexity of 8."""
    assert Surprise(5 * math.log(8), 5).loss == pytest.approx(math.log(8))
    assert Surprise(5 * math.log(8), 5).perplexity == pytest.approx(8)
    assert math.isnan(Surprise(0.0, 0).loss)


@pytest.mark.parametrize("source_eos", [True, False])
@pytest.mark.parametrize("batch_tokens", [1, 12, 1000])
def test_for_every_model_the_loss_is_the_mean_over_all_targets_however_batched(batch_tokens, source_eos):
    model = tiny()
    sources, targets = [[4, 5, 6], [7], [8, 8, 4, 5, 6]], [[4], [5, 6, 7, 8], [4, 4]]
    expected = sum(
        log_p_of(model, pad([[*src, EOS] if source_eos else src]), tgt)
        for src, tgt in zip(sources, targets, strict=True)
    )
    found = surprise(model, sources, targets, source_eos, batch_tokens)
    assert found.n_tokens == 10  # 7 words and 3 ends
    assert found.nats == pytest.approx(-expected)
