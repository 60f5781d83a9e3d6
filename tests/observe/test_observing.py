"""Observing: a run that is watched is the run that is not, to the bit, unless somebody edits."""

import threading

import pytest
import torch

from prosector.config.transformer import TransformerConfig
from prosector.models.transformer import Transformer
from prosector.observe import observe

SRC = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]])
TGT = torch.tensor([[2, 4, 5], [2, 6, 0]])


@pytest.fixture(params=["sdpa", "written-out", "flex"])
def model(request: pytest.FixtureRequest) -> Transformer:
    config = TransformerConfig(
        d_model=16, n_heads=2, d_ff=32, source_vocab=12, target_vocab=12, encoder_layers=2, decoder_layers=2,
        kernel=request.param,
    )  # fmt: skip
    return config.build().eval()


def test_recording_changes_no_bit(model):
    with torch.no_grad():
        alone = model(SRC, TGT)
        with observe(model) as seen:
            watched = model(SRC, TGT)
    assert torch.equal(alone, watched)
    assert torch.equal(seen["logits"], alone)


def test_every_step_of_the_arithmetic_has_an_address(model):
    with torch.no_grad(), observe(model) as seen:
        model(SRC, TGT)
    for address in (
        "encoder.input", "encoder.0.attention.query", "encoder.1.attention.scores", "encoder.1.attention.weights",
        "encoder.0.attention.heads", "encoder.0.feed_forward.hidden", "encoder.0.norm1", "encoder",
        "decoder.0.self.weights", "decoder.1.cross.weights", "decoder.1.cross", "decoder.1.norm3", "decoder", "logits",
    ):  # fmt: skip
        assert address in seen, address
    assert seen["decoder.1.cross.weights"].shape == (2, 2, 3, 4)
    assert seen["decoder.0.self.weights"][0, 0, 0].tolist() == [1.0, 0.0, 0.0]  # the first word sees itself alone
    assert seen["encoder.0.attention.weights"][1, :, :, 3].abs().max() == 0  # padding is never looked at


def test_recomputed_weights_are_those_of_the_kernel(model):
    with torch.no_grad(), observe(model) as seen:
        model(SRC, TGT)
    attentions = [address for address in seen if address.endswith(".recomputed")]
    if model.config.kernel == "written-out":
        assert seen["encoder.0.attention.weights"].sum(-1) == pytest.approx(1)
    else:
        assert len(attentions) == 6
    assert all(seen[address] < 1e-5 for address in attentions)


def test_an_edit_of_the_weights_reaches_the_output(model):
    """With every cross-attention weight on the first source word, the heads are that word's values."""

    def look_at_the_first(weights):
        return torch.zeros_like(weights).index_fill(-1, torch.tensor([0]), 1.0)

    with torch.no_grad():
        alone = model(SRC, TGT)
        with observe(model) as seen:
            seen.edit("decoder.*.cross.weights", look_at_the_first)
            edited = model(SRC, TGT)
    assert not torch.allclose(alone, edited)
    first_value = seen["decoder.1.cross.value"][:, :, :1]
    assert torch.allclose(seen["decoder.1.cross.heads"], first_value.expand_as(seen["decoder.1.cross.heads"]))


def test_an_edit_in_place_does_not_reach_back_into_what_was_recorded(model):
    with torch.no_grad(), observe(model) as plain:
        model(SRC, TGT)
    with torch.no_grad(), observe(model) as seen:
        seen.edit("encoder", lambda x: x.mul_(0))
        model(SRC, TGT)
    assert (seen["encoder"] == 0).all()
    assert torch.equal(seen["encoder.final_norm"], plain["encoder.final_norm"])


def test_removing_a_head_is_an_edit_of_heads(model):
    def without_head_one(heads):
        return heads.clone().index_fill_(1, torch.tensor([1]), 0.0)

    with torch.no_grad(), observe(model) as seen:
        seen.edit("encoder.0.attention.heads", without_head_one)
        model(SRC, TGT)
    assert seen["encoder.0.attention.heads"][:, 1].abs().max() == 0
    assert seen["encoder.0.attention.heads"][:, 0].abs().max() > 0


def test_two_threads_one_observing_never_mix(model):
    with torch.no_grad():
        alone = model(SRC, TGT)
    started, outputs = threading.Barrier(2), {}

    def other_thread():
        started.wait()
        with torch.no_grad():
            outputs["other"] = [model(SRC, TGT) for _ in range(5)]

    thread = threading.Thread(target=other_thread)
    thread.start()
    with torch.no_grad(), observe(model) as seen:
        seen.edit("encoder.0.norm1", torch.zeros_like)
        started.wait()
        edited = [model(SRC, TGT) for _ in range(5)]
    thread.join()
    assert len(seen.steps("logits")) == 5  # none of the other thread's
    assert all(torch.equal(output, alone) for output in outputs["other"])
    assert not any(torch.equal(output, alone) for output in edited)


def test_what_is_kept_is_bounded_and_chosen(model):
    with torch.no_grad(), observe(model, keep=["encoder.*.weights"]) as seen:
        model(SRC, TGT)
    assert sorted(seen) == ["encoder.0.attention.weights", "encoder.1.attention.weights"]
    with pytest.raises(MemoryError, match=r"keep fewer addresses"), torch.no_grad(), observe(model, limit=100):
        model(SRC, TGT)


def test_mistakes_are_named(model):
    with torch.no_grad(), observe(model) as seen:
        model(SRC, TGT)
        with pytest.raises(KeyError, match=r"encoder\.9\.attention\.weights.*encoder\.0\.attention\.weights"):
            seen["encoder.9.attention.weights"]
        seen.edit("encoder.0.norm1", lambda value: value[:1])
        with pytest.raises(ValueError, match=r"encoder\.0\.norm1 returned \[1, 4, 16\] for \[2, 4, 16\]"):
            model(SRC, TGT)


def test_an_edit_that_met_nothing_is_no_silent_success(model):
    def run_with_a_slip_of_the_pen():
        with torch.no_grad(), observe(model) as seen:
            seen.edit("decoder.*.kross.weights", torch.zeros_like)
            model(SRC, TGT)

    with pytest.raises(KeyError, match=r"nothing passed at 'decoder\.\*\.kross\.weights'"):
        run_with_a_slip_of_the_pen()
