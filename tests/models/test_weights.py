"""Weights on disk: what is written comes back to the bit, and what does not fit is named."""

import pytest
import torch
from safetensors.torch import load_file
from tests.helpers import POSITIONS, sentences, tiny

from prosector.models.weights import load_weights, replace_file, save_weights, weights_of


@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)
def test_for_every_model_what_is_saved_comes_back_to_the_bit(tmp_path, position, tie):
    fields = {"position": position, "tie": tie, "norm": "batch", "source_vocab": 19, "encoder_layers": 1}
    saved, loaded = tiny(torch.float32, **fields), tiny(torch.float32, **fields)
    src, tgt = sentences(2, 4), sentences(2, 5)
    assert not torch.equal(saved(src, tgt), loaded(src, tgt))
    save_weights(saved, tmp_path / "model.safetensors")
    load_weights(loaded, load_file(tmp_path / "model.safetensors"), "the file")
    assert torch.equal(saved(src, tgt), loaded(src, tgt))
    assert [path.name for path in tmp_path.iterdir()] == ["model.safetensors"]


def test_each_weight_is_written_once():
    names = {tie: set(weights_of(tiny(tie=tie, source_vocab=19))) for tie in ("none", "target", "all")}
    assert names["none"] - names["target"] == {"output.weight"}
    assert names["target"] - names["all"] == {"target_embedding.weight"}


def test_half_precision_halves_the_file(tmp_path):
    model = tiny(torch.float32)
    for name, dtype in (("whole", None), ("half", torch.float16)):
        save_weights(model, tmp_path / name, dtype)
    whole, half = (sum(w.nbytes for w in load_file(tmp_path / name).values()) for name in ("whole", "half"))
    assert whole == 2 * half
    other = tiny(torch.float32)
    load_weights(other, load_file(tmp_path / "half"), "half")
    for name, weight in weights_of(other).items():
        assert weight.dtype == torch.float32
        assert torch.equal(weight, weights_of(model)[name].half().float())


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda w: w.pop("encoder.0.norm1.weight"), "weights missing: encoder.0.norm1.weight"),
        (lambda w: w.update(more=torch.ones(1)), "weights surplus: more"),
        (
            lambda w: w.update({"decoder.1.norm2.bias": torch.ones(3)}),
            r"weights of another shape: decoder.1.norm2.bias \[3\] for \[16\]",
        ),
        (
            lambda w: [w.pop("encoder.0.norm1.weight"), w.pop("encoder.0.norm1.bias"), w.update(more=torch.ones(1))],
            "weights missing: encoder.0.norm1.bias, encoder.0.norm1.weight; surplus: more",
        ),
    ],
)
def test_what_does_not_fit_is_named_and_then_nothing_is_loaded(change, message):
    model, other = tiny(), tiny()
    before = {name: weight.clone() for name, weight in weights_of(model).items()}
    weights = dict(weights_of(other))
    change(weights)
    with pytest.raises(ValueError, match=f"^mine.safetensors does not fit the model: {message}$"):
        load_weights(model, weights, "mine.safetensors")
    assert all(torch.equal(weight, before[name]) for name, weight in weights_of(model).items())


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fails(temporary):
        temporary.write_text("half of the n")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full"):
        replace_file(path, fails)
    assert path.read_text() == "old"
    replace_file(path, lambda temporary: temporary.write_text("new"))
    assert path.read_text() == "new"
