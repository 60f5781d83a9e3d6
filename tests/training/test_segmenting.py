"""Learning what is where: real nuclei, stopped and resumed, and the mask as a picture."""

import hashlib

import numpy as np
import pytest
from PIL import Image
from tests.training.test_run import Recorder, train_until

import prosector
from prosector.cli.main import main
from prosector.config.run import run_from
from prosector.data.masks import nuclei
from prosector.training.run import train


def config(kind, **training):
    tree = {
        "model": {"kind": kind, "channels": 4, "depth": 2},
        "data": {"source": "nuclei", "crop": 48, "batch": 4},
        "training": {"steps": 12, "warmup": 2, "save_every": 4, "validate_every": 4, "learning_rate": 1e-2} | training,
    }
    return run_from(tree, (), "here")


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.mark.parametrize("kind", ["unet", "attention-unet"])
def test_it_finds_real_nuclei(kind, tmp_path, capsys):
    outcome = train(config(kind, steps=60, validate_every=20), tmp_path / "out", Recorder())
    assert outcome.validation.scores["Dice nucleus"] > 60
    assert outcome.validation.scores["IoU nucleus"] < outcome.validation.scores["Dice nucleus"]
    text = (tmp_path / "out/README.md").read_text("utf-8")
    assert "never seen: rows 128 to 255, columns 128 to 255" in text
    assert "stardist" in text

    piece = nuclei().test[0]
    Image.fromarray((piece.picture[0] * 255).byte().numpy()[:, :100]).save(tmp_path / "cells.png")
    segmenter = prosector.load(tmp_path / "out")
    classes = segmenter.predict(tmp_path / "cells.png")
    assert classes.shape == (128, 100)
    call = ["predict", "--model", str(tmp_path / "out"), str(tmp_path / "cells.png")]
    assert main([*call, "--output", str(tmp_path / "mask.png")]) == 0
    mask = np.asarray(Image.open(tmp_path / "mask.png"))
    assert (mask == classes.numpy() * 255).all()
    assert f"nucleus {classes.float().mean():.3f}" in capsys.readouterr().out
    mistakes = {"mask.jpg": "as .png", "no/mask.png": "there is no folder", "cells.png": "the picture itself"}
    for place, what in mistakes.items():
        assert main([*call, "--output", str(tmp_path / place)]) == 2
        assert what in capsys.readouterr().err
    assert main(["evaluate", "--model", str(tmp_path / "out"), "--data", "nuclei"]) == 0
    assert "4 pieces that it never saw" in capsys.readouterr().out


def test_stopped_and_resumed_it_ends_with_the_same_bits(tmp_path):
    train(config("attention-unet"), tmp_path / "whole", Recorder())
    train_until(7, config("attention-unet"), tmp_path / "parts")
    train(config("attention-unet"), tmp_path / "parts", Recorder(), resume=True)
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")


def test_it_can_be_trained_further(tmp_path):
    train(config("unet", steps=40, validate_every=40), tmp_path / "first", Recorder())
    tuned = Recorder()
    train(config("unet", steps=4, warmup=1), tmp_path / "tuned", tuned, start_from=tmp_path / "first")
    assert tuned.losses[1] < 0.5
