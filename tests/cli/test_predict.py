"""`prosector predict`, and `train` and `evaluate` of pictures, as people call them."""

import json

import pytest
from PIL import Image

from prosector.data.pictures import read_pictures

RECIPE = """
[model]
kind = "vit"
d_model = 32
n_heads = 2
d_ff = 64
layers = 1
patch = [2, 2]

[data]
test = 359
dev = 100

[training]
steps = 200
learning_rate = 5e-3
warmup = 5
save_every = 100
validate_every = 100
threads = 1
"""


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    """A model that `prosector train` made of real digits, and one of them as a file."""
    from prosector.cli.main import main

    folder = tmp_path_factory.mktemp("vit")
    (folder / "vit.toml").write_text(RECIPE, "utf-8")
    assert main(["train", str(folder / "vit.toml"), "--data", "digits", "--out", str(folder / "model")]) == 0
    Image.fromarray((read_pictures("digits").values[0, 0] * 255).byte().numpy()).save(folder / "zero.png")
    return folder


def test_a_line_for_each_file(prosector, vit):
    result = prosector("predict", "--model", vit / "model", vit / "zero.png", vit / "zero.png", "--top", 2)
    assert result.code == 0
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert [line[0] for line in lines] == [str(vit / "zero.png")] * 2
    assert lines[0][1].split()[0] == "0"
    assert len(lines[0]) == 3


def test_json(prosector, vit):
    [row] = json.loads(prosector("predict", "--model", vit / "model", vit / "zero.png", "--json").out)
    assert row["classes"][0]["name"] == "0"
    assert 0 < row["classes"][0]["probability"] <= 1


def test_evaluate_takes_the_pictures_that_training_left_out(prosector, vit):
    result = prosector("evaluate", "--model", vit / "model", "--data", "digits", "--json", "-")
    figures = json.loads(result.out)
    assert figures["n_pictures"] == 359
    assert figures["accuracy"] > 0.5
    assert "359 pictures that it never saw" in prosector("evaluate", "--model", vit / "model", "--data", "digits").out


def test_mistakes_are_named(prosector, vit, tmp_path):
    (tmp_path / "no.png").write_bytes(b"no")
    assert (
        "no.png cannot be read as a picture" in prosector("predict", "--model", vit / "model", tmp_path / "no.png").err
    )
    assert prosector("predict", "--model", vit / "model", tmp_path / "nowhere.png").code == 2
    two = prosector("train", vit / "vit.toml", "--data", "digits", "--data", "digits", "--out", tmp_path / "out")
    assert "--data names one set of pictures" in two.err
