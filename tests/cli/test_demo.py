"""`prosector demo`: its folder, its steps, its figure."""

import numpy as np
import pytest
import torch
from PIL import Image
from tests.cli.calls import PAIRS

from prosector.cli import tour, trial
from prosector.cli.attention import look
from prosector.cli.demo import MARK, clean
from prosector.cli.figure import draw_attention
from prosector.cli.trial import begun, fitted, with_steps
from prosector.config.run import RunConfig, read_run
from prosector.data.hsk import Graded, Split
from prosector.decoding import installed, load


def test_only_its_own_folder_is_cleaned(tmp_path):
    folder = tmp_path / ".demo"
    assert clean(folder) == folder
    (folder / "old").touch()
    clean(folder)
    assert [path.name for path in folder.iterdir()] == [MARK]

    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/precious").touch()
    with pytest.raises(FileExistsError, match="mine"):
        clean(tmp_path / "mine")
    assert (tmp_path / "mine/precious").exists()


@pytest.mark.parametrize("steps", [20, 57, 1999])
def test_for_every_number_of_steps_the_intervals_fit(steps):
    training = with_steps(RunConfig(), steps).training
    assert training.steps == steps
    assert training.warmup < steps
    assert training.validate_every <= steps


def test_as_many_steps_are_taken_as_fit_into_the_time(here):
    """Twice the time, about twice the steps; never fewer than twenty."""
    config = read_run(here / "tiny.toml", [f'data.train = [{{path = "{here / "pairs.tsv"}"}}]'])
    few, many = (fitted(*begun(config, None), seconds).training.steps for seconds in (1, 8))
    assert 20 <= few < many
    assert fitted(*begun(config, None), 0).training.steps == 20


def test_each_written_word_has_a_row_that_sums_to_one(model):
    looks = look(load(model), "我喜欢猫。")
    assert looks.read == [*"我喜欢猫。", "<eos>"]
    assert looks.written[-1] == "<eos>"
    assert looks.weights.shape == (2, len(looks.written), 6)
    assert looks.weights.sum(dim=-1).allclose(torch.ones(()))


@pytest.mark.parametrize("read", [["我", "喜欢", "猫", "。"], ["a", "b", "c", "d"]])
def test_without_a_chinese_font_places_are_numbers(tmp_path, read):
    """No tofu: nothing is drawn that the font lacks. Matplotlib would warn, and warnings are errors here."""
    draw_attention(tmp_path / "a.png", torch.rand(3, 5, 4).softmax(-1), list("Icats"), read, "title", None)
    picture = np.asarray(Image.open(tmp_path / "a.png").convert("L"))
    assert min(picture.shape) > 200
    assert picture.std() > 10


@pytest.fixture
def small_tour(here, model, tmp_path, monkeypatch):
    """The tour with the tiny recipe, our own sentences, and the tiny model as the shipped one."""
    sentences = [Graded(en, zh, 1) for en, zh in PAIRS]
    monkeypatch.setattr(tour, "read_hsk", lambda: sentences)
    monkeypatch.setattr(tour, "split", lambda given: Split(given[:30], given[30:35], given[35:]))
    monkeypatch.setattr(tour, "find_recipe", lambda preset: here / "tiny.toml")
    monkeypatch.setattr(trial, "fitted", lambda work, start, seconds: with_steps(start.config, 20))
    (tmp_path / "pretrained").mkdir()
    monkeypatch.setattr(installed, "PRETRAINED", tmp_path / "pretrained")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "pretrained" / "zh-en"


def test_the_tour_without_a_shipped_model_and_again_with_one(prosector, small_tour, model):
    result = prosector("demo")
    assert result.code == 0
    assert "No shipped model is installed here" in result.out
    assert "fine-tuned  " not in result.out
    assert "prosector translate --model .demo/small" in result.out

    small_tour.symlink_to(model)
    result = prosector("demo")
    assert result.code == 0
    assert "人山人海。  →  " in result.out
    assert "small, from scratch   BLEU" in result.out
    assert "fine-tuned            BLEU" in result.out
    assert "prosector translate --model .demo/fine-tuned" in result.out
    assert (small_tour.parents[1] / ".demo/attention.png").exists()


def test_the_presets_of_the_demo_are_recipes():
    for name in ("demo", "fine-tune"):
        assert read_run(tour.find_recipe(name)).data.train == ()
