"""`prosector shortlist`, and `prosector translate --shortlist` and `--stream`."""

import shutil

import pytest
from tests.cli.calls import PAIRS

from prosector.decoding import native

needs_core = pytest.mark.skipif(native.core() is None, reason="no compiler has built the native core")


@pytest.fixture
def copy(model, tmp_path):
    """A model's folder that may be changed."""
    return shutil.copytree(model, tmp_path / "model")


@needs_core
def test_a_shortlist_of_the_training_data_leaves_its_translations_as_they_are(prosector, copy, here):
    lines = [zh for _, zh in PAIRS[:9]]
    before = prosector("translate", "--model", copy, "--beam", 1, *lines).out
    made = prosector("shortlist", copy, "--data", here / "pairs.tsv", "--common", 5)
    assert made.code == 0
    assert "words for a sentence; prosector translate --shortlist uses it" in made.err
    assert (copy / "shortlist.safetensors").exists()
    assert prosector("translate", "--model", copy, "--beam", 1, "--shortlist", *lines).out == before


@needs_core
def test_without_one_the_command_that_makes_it_is_named(prosector, model):
    result = prosector("translate", "--model", model, "--shortlist", "我喜欢猫。")
    assert result.code == 2
    assert "prosector shortlist makes one" in result.err
    result = prosector("translate", "--model", model, "--engine", "pytorch", "--shortlist", "我喜欢猫。")
    assert result.code == 2
    assert "only the native core has one; leave out --engine pytorch" in result.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "which pairs shall be aligned? give --data FILE, or --recipe NAME"),
        (["--recipe", "en-zh"], "--recipe en-zh does not train a translator from zh to en"),
        (["--data", "nowhere.tsv"], "there is no file"),
    ],
)
def test_a_mistake_is_named(prosector, copy, arguments, says):
    result = prosector("shortlist", copy, *arguments)
    assert result.code == 2
    assert says in result.err


@pytest.mark.parametrize("engine", ["pytorch", pytest.param("native", marks=needs_core)])
def test_a_stream_is_the_translation(prosector, model, engine):
    lines = ["我喜欢猫。他们看见鸟。", "", "你喜欢狗。"]
    how = ["translate", "--model", model, "--engine", engine]
    assert prosector(*how, "--stream", *lines) == prosector(*how, *lines)


@pytest.mark.parametrize("other", [["--n-best", 2], ["--scores"], ["--simplify"]])
def test_a_stream_shows_one_translation_alone(prosector, model, other):
    result = prosector("translate", "--model", model, "--stream", *other, "我喜欢猫。")
    assert result.code == 2
    assert f"leave out {other[0]}" in result.err
