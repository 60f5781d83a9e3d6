"""Learning what a picture is of: real digits, stopped and resumed, trained further, and what the folder says."""

import hashlib

import pytest
import torch
from PIL import Image
from tests.training.test_run import Recorder, train_until

import prosector
from prosector.config.run import run_from
from prosector.data.pictures import read_pictures, split
from prosector.decoding.folder import read_picture_model
from prosector.evaluation.classes import classed
from prosector.training.run import train

MODELS = {
    "vit": {"kind": "vit", "d_model": 32, "n_heads": 4, "d_ff": 64, "layers": 2, "patch": (2, 2)},
    "conv-transformer": {
        "kind": "conv-transformer",
        "stages": [{"d_model": 16, "stride": 1}, {"d_model": 32, "n_heads": 2}],
    },
}
every_model = pytest.mark.parametrize("kind", MODELS)


def config(kind, **training):
    tree = {
        "model": MODELS[kind] | {"dropout": 0.0},
        "data": {"source": "digits", "test": 359, "dev": 100, "batch": 50},
        "training": {"steps": 12, "warmup": 2, "save_every": 4, "validate_every": 4, "learning_rate": 3e-3} | training,
    }
    return run_from(tree, (), "here")


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@every_model
def test_it_learns_real_digits(kind, tmp_path):
    outcome = train(config(kind, steps=280, validate_every=140), tmp_path / "out", Recorder())
    assert outcome.validation.scores["accuracy"] > 85
    classifier = prosector.load(tmp_path / "out")
    test = split(read_pictures("digits"), config(kind).data).test
    assert classed(classifier.logits, test.values, test.labels).accuracy > 0.85

    pixels = (test.values[:9, 0] * 255).round().byte().numpy()
    for number, picture in enumerate(pixels):
        Image.fromarray(picture).save(tmp_path / f"{number}.png")
    files = [tmp_path / f"{number}.png" for number in range(9)]
    expected = classed(classifier.logits, test.values[:9], test.labels[:9]).predicted.tolist()
    found = classifier.predict(files, top=3)
    assert [best[0].name for best in found] == [str(label) for label in expected]
    assert all(1 >= best[0].probability >= best[1].probability >= best[2].probability > 0 for best in found)
    text = (tmp_path / "out/README.md").read_text("utf-8")
    assert "UCI repository" in text
    assert "359 that it never sees" in text


@every_model
def test_stopped_and_resumed_it_ends_with_the_same_bits(kind, tmp_path):
    train(config(kind), tmp_path / "whole", Recorder())
    train_until(7, config(kind), tmp_path / "parts")
    train(config(kind), tmp_path / "parts", Recorder(), resume=True)
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")


def test_it_can_be_trained_further(tmp_path):
    train(config("vit", steps=100, validate_every=100), tmp_path / "first", Recorder())
    tuned = Recorder()
    train(config("vit", steps=4, warmup=1), tmp_path / "tuned", tuned, start_from=tmp_path / "first")
    assert tuned.losses[1] < 1.5  # from scratch ln 10
    found, model = read_picture_model(tmp_path / "tuned")
    assert (found.classes, found.size) == (tuple("0123456789"), (8, 8))
    assert model(torch.zeros(1, 1, 8, 8)).shape == (1, 10)


def test_a_picture_of_another_size_and_of_other_colours_is_brought_to_the_models(tmp_path):
    train(config("vit", steps=4, warmup=1), tmp_path / "out", Recorder())
    Image.new("RGB", (40, 30), (255, 255, 255)).save(tmp_path / "white.png")
    classifier = prosector.load(tmp_path / "out")
    [[guess]] = classifier.predict([tmp_path / "white.png"])
    assert guess.name in "0123456789"
    [[other]] = classifier.predict([tmp_path / "white.png"], invert=True)
    assert other.probability != guess.probability


def test_the_schedule_of_2017_needs_one_d_model(tmp_path):
    with pytest.raises(ValueError, match="goes by d_model, of which this model has several"):
        train(config("conv-transformer", schedule="noam"), tmp_path / "out", Recorder())
