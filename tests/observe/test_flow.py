"""Attention through the layers: shares that sum to one, and worked values."""

import pytest
import torch
from tests.observe.models import SRC, TGT, translator, watched, writer

from prosector.observe import observe
from prosector.observe.flow import alignment, rollout, rollout_across


class Recorded(dict):
    """Values by address, as `Seen` has them."""

    def steps(self, address):
        return [self[address]]


def test_two_layers_by_hand():
    """Both tokens look at the first alone: half of each layer's second token comes from there."""
    look = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]])
    seen = Recorded({"encoder.0.attention.weights": look, "encoder.1.attention.weights": look})
    assert rollout(seen).tolist() == [[[1.0, 0.0], [0.75, 0.25]]]


def test_one_decoder_layer_by_hand():
    """Target: itself ½, then halved by the cross-attention, whose other half is the source's second token."""
    seen = Recorded(
        {
            "encoder.0.attention.weights": torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]]),
            "decoder.0.self.weights": torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]),
            "decoder.0.cross.weights": torch.tensor([[[[0.0, 1.0], [0.5, 0.5]]]]),
        }
    )
    target, source = rollout_across(seen)
    assert target.tolist() == [[[0.5, 0.0], [0.25, 0.25]]]
    assert source.tolist() == [[[0.0, 0.5], [0.25, 0.25]]]


@pytest.mark.parametrize("kernel", ["sdpa", "written-out"])
@pytest.mark.parametrize("norm_placement", ["pre", "post"])
def test_all_rows_sum_to_one_and_padding_gives_nothing(kernel, norm_placement):
    seen = watched(translator(kernel=kernel, norm_placement=norm_placement))
    assert torch.allclose(rollout(seen).sum(-1), torch.ones(2, 4))
    target, source = rollout_across(seen)
    assert torch.allclose(target.sum(-1) + source.sum(-1), torch.ones(2, 3))
    assert source[1, :, 3].abs().max() == 0
    assert target[0].triu(1).abs().max() == 0  # nothing comes from what is not written yet


def test_a_writer_has_a_flow_too():
    flow = rollout(watched(writer()), "decoder")
    assert torch.allclose(flow.sum(-1), torch.ones(2, 3))
    assert flow[0].triu(1).abs().max() == 0


def test_alignment_is_the_mean_of_the_heads_of_all_layers_or_of_one():
    seen = watched(translator())
    per_layer = [seen[f"decoder.{number}.cross.weights"].mean(1) for number in range(3)]
    assert torch.allclose(alignment(seen), sum(per_layer) / 3)
    assert torch.equal(alignment(seen, layer=1), per_layer[1])


def test_step_by_step_it_is_the_same_as_at_once():
    model = translator()
    whole = alignment(watched(model))
    with torch.no_grad(), observe(model, keep=["*.cross.weights"]) as seen:
        memory, cache = model.encode(SRC), model.new_cache()
        for token in TGT.unbind(1):
            model.decode(token[:, None], memory, SRC != 0, cache)
    assert torch.allclose(alignment(seen), whole, atol=1e-6)


def test_what_was_not_recorded_is_an_error():
    with torch.no_grad(), observe(translator(), keep=["encoder.0"]) as seen:
        pass
    with pytest.raises(KeyError, match=r"nothing was seen at 'encoder.0.attention.weights'"):
        rollout(seen)
