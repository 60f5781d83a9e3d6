"""BERT: it reads in both directions, and is asked what was hidden and what the whole is."""

import math

import pytest
import torch
from tests.helpers import sentences, stirred

from prosector.config.bert import BertConfig


def tiny(**fields):
    sizes = {"vocab": 19, "d_model": 16, "n_heads": 4, "d_ff": 24, "layers": 2, "dropout": 0.0}
    return stirred(BertConfig(**sizes | fields).build().double()).eval()


@pytest.mark.parametrize("placement", ["pre", "post"])
def test_before_training_every_word_and_every_label_is_as_likely_as_another(placement):
    model = BertConfig(vocab=3000, d_model=64, d_ff=128, layers=2, n_labels=7, norm_placement=placement).build()
    ids = sentences(16, 20, 3000)
    with torch.no_grad():
        hidden = model.hidden(ids)
        filled = torch.nn.functional.cross_entropy(model.fill(hidden).flatten(0, 1), ids.flatten())
        labelled = torch.nn.functional.cross_entropy(model.classify(hidden), torch.randint(7, (16,)))
    assert filled.item() == pytest.approx(math.log(3000), rel=0.05)
    assert labelled.item() == pytest.approx(math.log(7), rel=0.05)


def test_mask_is_the_id_after_the_vocabulary_and_is_never_filled_in():
    model = tiny()
    ids = sentences(2, 5)
    ids[:, 2] = model.mask_id
    assert model.mask_id == 19
    assert model(ids).shape == (2, 5, 19)


def test_every_place_depends_on_every_other():
    model, ids = tiny(), sentences(1, 6)
    for place in range(6):
        other = ids.clone()
        other[0, place] = model.mask_id
        changed = (model.hidden(other) - model.hidden(ids)).abs().amax(dim=2)[0]
        assert (changed > 1e-6).all()


def test_padding_changes_nothing():
    model, ids = tiny(), sentences(2, 6)
    padded = torch.nn.functional.pad(ids, (0, 3))
    with torch.no_grad():
        hidden = model.hidden(padded)
        torch.testing.assert_close(hidden[:, :6], model.hidden(ids), rtol=0, atol=1e-10)
        torch.testing.assert_close(model.classify(hidden), model.classify(model.hidden(ids)), rtol=0, atol=1e-10)


def test_the_segments_tell_two_sentences_apart():
    model, ids = tiny(), sentences(1, 6)
    second = torch.tensor([[0, 0, 0, 1, 1, 1]])
    assert (model.hidden(ids, second) - model.hidden(ids)).abs().max() > 1e-3
    torch.testing.assert_close(model.hidden(ids, torch.zeros_like(ids)), model.hidden(ids), rtol=0, atol=0)
