"""GPT: it reads its own past and nothing else."""

import math

import pytest
import torch
from tests.helpers import POSITIONS, sentences, stirred

from prosector.attention import Mask
from prosector.config.gpt import GptConfig
from prosector.observe import observe
from prosector.training.loss import label_smoothed_cross_entropy

every_position = pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)


def tiny(**fields):
    sizes = {"vocab": 19, "d_model": 16, "n_heads": 4, "d_ff": 24, "layers": 2, "dropout": 0.0}
    return stirred(GptConfig(**sizes | fields).build().double()).eval()


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("placement", ["pre", "post"])
def test_before_training_every_word_is_as_likely_as_another(tie, placement):
    model = GptConfig(vocab=3000, d_model=64, d_ff=128, layers=2, tie=tie, norm_placement=placement).build()
    ids = sentences(8, 20, 3000)
    with torch.no_grad():
        loss = label_smoothed_cross_entropy(model(ids[:, :-1]), ids[:, 1:])
    assert loss.item() == pytest.approx(math.log(3000), rel=0.05)
    assert (model.output.weight is model.embedding.weight) == tie


@every_position
@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("chunks", [[1] * 7, [3, 4], [2, 1, 4]])
def test_with_a_cache_it_computes_the_same(position, placement, chunks):
    model, ids = tiny(position=position, norm_placement=placement), sentences(3, 7)
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model.hidden(part, cache) for part in ids.split(chunks, dim=1)]
        torch.testing.assert_close(model.logits(torch.cat(parts, dim=1)), model(ids), rtol=0, atol=1e-10)
    assert len(cache) == 7


@every_position
def test_no_output_depends_on_the_future(position):
    model, ids = tiny(position=position), sentences(2, 8)
    other = ids.clone()
    other[:, 5:] = 7
    logits, others = model(ids), model(other)
    torch.testing.assert_close(logits[:, :5], others[:, :5], rtol=0, atol=1e-12)
    assert (logits[:, 5:] != others[:, 5:]).any()


@pytest.mark.parametrize("position", ["sinusoidal", "rope", "alibi", "t5"])
def test_padding_on_the_left_changes_nothing(position):
    model, ids = tiny(position=position), sentences(1, 5)
    padded = torch.nn.functional.pad(ids, (3, 0))
    positions = (torch.arange(8) - 3).clamp(min=0)[None]
    mask = Mask.causal() & Mask.keys(padded != 0)
    with torch.no_grad():
        hidden = model.hidden(padded, positions=positions, mask=mask)
        torch.testing.assert_close(model.logits(hidden)[:, 3:], model(ids), rtol=0, atol=1e-10)


def test_every_value_has_its_tap():
    model = tiny()
    with torch.no_grad(), observe(model) as seen:
        model(sentences(2, 5))
    layer = {"decoder.0.attention.weights", "decoder.1.attended", "decoder.1"}
    assert {"embedding", "decoder.input", "decoder", "logits"} | layer < set(seen)
    weights = seen["decoder.1.attention.weights"]
    assert (weights.triu(1) == 0).all()
