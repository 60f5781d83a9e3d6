"""BERT and ViT read as ours: the same scores, states and weights, whatever heads there are."""

import pytest
import torch
from tests.interop.hugging_face.theirs import READERS, VIT, near, rows, saved

from prosector.interop.hugging_face import from_hugging_face
from prosector.observe import observe


def both(make, folder):
    """One of theirs, and ours as read from its folder."""
    return saved(make, folder), from_hugging_face(folder)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", READERS)
def test_bert_gives_the_same_scores_wherever_padding_stands(name, side, tmp_path):
    theirs, ours = both(READERS[name], tmp_path)
    ids, real = rows((12, 7, 2), side)
    segments = (torch.arange(12) > 5).long().expand(3, -1)
    with torch.no_grad():
        wanted = theirs(ids, attention_mask=real.long(), token_type_ids=segments)
        hidden = ours.hidden(ids, segments)
    if ours.config.fills:
        scores = wanted.prediction_logits if "prediction_logits" in wanted else wanted.logits
        assert near(ours.fill(hidden)[real], scores[real])
    if ours.config.labels:
        scores = wanted.seq_relationship_logits if "seq_relationship_logits" in wanted else wanted.logits
        assert near(ours.classify(hidden), scores)


def test_berts_hidden_states_and_attention_weights_are_equal(tmp_path):
    theirs, ours = both(READERS["both heads"], tmp_path)
    ids, real = rows((12, 7, 2))
    with torch.no_grad(), observe(ours) as seen:
        wanted = theirs(ids, attention_mask=real.long(), output_hidden_states=True, output_attentions=True)
        ours.hidden(ids)
    states = [seen["encoder.input"], seen["encoder.0"], seen["encoder"]]
    for mine, other in zip(states, wanted.hidden_states, strict=True):
        assert near(mine[real], other[real])
    for number, weights in enumerate(wanted.attentions):
        mine = seen[f"encoder.{number}.attention.weights"].transpose(1, 2)[real]
        assert near(mine, weights.transpose(1, 2)[real])


def test_a_head_that_is_not_there_is_an_error_that_says_so(tmp_path):
    _, ours = both(READERS["no head"], tmp_path)
    hidden = ours.hidden(rows((4,))[0])
    with pytest.raises(ValueError, match="this BERT fills no gaps"):
        ours.fill(hidden)
    with pytest.raises(ValueError, match="this BERT labels no texts"):
        ours.classify(hidden)
    with pytest.raises(ValueError, match="which id is \\[MASK\\] is not known"):
        _ = ours.mask_id


@pytest.mark.parametrize("name", VIT)
def test_vit_gives_the_same_scores(name, tmp_path):
    theirs, ours = both(VIT[name], tmp_path)
    pictures = torch.rand(3, ours.config.d_input, *ours.config.picture)
    with torch.no_grad(), observe(ours) as seen:
        wanted = theirs(pictures, output_hidden_states=True, output_attentions=True)
        assert near(ours(pictures), wanted.logits)
    for mine, other in zip([seen["encoder.input"], seen["encoder.0"]], wanted.hidden_states, strict=False):
        assert near(mine, other)
    assert near(seen["encoder.1.attention.weights"], wanted.attentions[1])


def test_vit_gives_the_same_scores_for_pictures_of_another_size(tmp_path):
    """Positions between those that were learned are interpolated alike."""
    theirs, ours = both(VIT["usual"], tmp_path)
    pictures = torch.rand(2, 3, 24, 8)
    with torch.no_grad():
        assert near(ours(pictures), theirs(pictures, interpolate_pos_encoding=True).logits)
