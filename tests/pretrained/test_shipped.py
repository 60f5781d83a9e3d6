"""The models that come with the package: small, in half precision, by the recipe of their name, their data named."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file

import prosector
from prosector.config.folder import TranslatorFolder
from prosector.config.run import read_run
from prosector.data.corpus import PRESETS
from prosector.decoding import installed_models
from prosector.decoding.folder_config import read_config

SHIPPED = installed_models()
MEBI = 2**20


@pytest.fixture(params=SHIPPED, ids=str)
def name(request):
    return request.param


def test_both_directions_are_there():
    assert {"zh-en", "en-zh"} <= SHIPPED.keys()


def test_it_is_small_and_in_half_precision(name):
    size = sum(file.stat().st_size for file in SHIPPED[name].iterdir())
    assert size <= (24 if name in ("zh-en", "en-zh") else 2) * MEBI
    assert {value.dtype for value in load_file(SHIPPED[name] / "model.safetensors").values()} <= {
        torch.float16,
        torch.int64,  # batch norm counts its batches
    }


def test_the_recipe_of_its_name_makes_such_a_model(name):
    recipe, config = read_run(PRESETS / f"{name}.toml"), read_config(SHIPPED[name])
    found = json.loads(config.model.model_dump_json())
    learned = {"source_vocab", "target_vocab", "vocab", "n_classes", "d_input"}  # from the data
    for key, value in json.loads(recipe.model.model_dump_json()).items():
        assert key in learned or found[key] == value, key
    assert recipe.training.save_as == "float16"


def test_its_readme_says_how_it_was_made_and_from_what(name):
    recipe, readme = read_run(PRESETS / f"{name}.toml"), (SHIPPED[name] / "README.md").read_text("utf-8")
    assert re.search(rf"^prosector train {name}( --set training\.threads=\d+)?$", readme, re.MULTILINE)
    assert "(kept)" in readme
    assert f"{recipe.training.steps:,} steps" in readme
    for file in [*getattr(recipe.data, "train", ()), *getattr(recipe.data, "dev", ())] if name_of_files(recipe) else []:
        assert file.licence
        assert re.search(rf"\| `{re.escape(file.path)}`.* \| {re.escape(file.licence)} \| `[0-9a-f]{{64}}` \|", readme)


def name_of_files(recipe):
    """Whether a recipe names files; that of pictures names a set, of which `train` is a number."""
    return isinstance(getattr(recipe.data, "train", None), tuple)


def test_a_translator_was_chosen_after_rounding_and_says_its_scores(name):
    if isinstance(read_config(SHIPPED[name]), TranslatorFolder):
        readme = (SHIPPED[name] / "README.md").read_text("utf-8")
        assert "nrefs:1|case:mixed" in readme


@pytest.mark.parametrize(
    ("model", "text", "expected"),
    [
        ("zh-en", "我喜欢深度学习。", "I like deep learning."),
        ("zh-en", "人山人海。", "There is a sea of people."),
        ("zh-en", "明天会下雨吗？", "Will it rain tomorrow?"),
        ("en-zh", "How are you?", "你们好吗？"),
        ("en-zh", "I like deep learning.", "我喜欢深度学习。"),
        ("en-zh", "Where is the station?", "车站在哪儿？"),
    ],
)
def test_a_translator_writes_what_the_pages_show(model, text, expected):
    assert prosector.load(model).translate([text]) == [expected]
