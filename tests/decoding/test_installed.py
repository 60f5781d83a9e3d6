"""Models by name and by folder, and `prosector.load`."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.text.corpus import CHINESE, ENGLISH

import prosector
from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig
from prosector.decoding import Translator, find_model, installed, installed_models, load, translator_for
from prosector.decoding.folder import read_model, write_model
from prosector.text.characters import train_characters


@pytest.fixture
def pretrained(tmp_path, monkeypatch):
    """A place for installed models, with zh-en and en-zh in it, and other things."""
    place = tmp_path / "pretrained"
    tokenizer = train_characters([*CHINESE, *ENGLISH], vocab_size=60)
    sizes = {"source_vocab": tokenizer.vocab_size, "target_vocab": tokenizer.vocab_size, "d_model": 8, "d_ff": 8}
    model = TransformerConfig(**sizes, n_heads=2, encoder_layers=1, decoder_layers=1)
    for source, target in (("zh", "en"), ("en", "zh")):
        config = TranslatorFolder(source=source, target=target, model=model)
        write_model(place / f"{source}-{target}", config, model.build(), [tokenizer, tokenizer], "# Tiny\n")
    (place / "no-model").mkdir()
    monkeypatch.setattr(installed, "PRETRAINED", place)
    return place


def test_models_are_installed_by_their_folders(pretrained):
    assert installed_models() == {"en-zh": pretrained / "en-zh", "zh-en": pretrained / "zh-en"}


def test_a_name_and_a_folder_give_the_same_model(pretrained, monkeypatch):
    texts = CHINESE[:2]
    expected = load("zh-en").translate(texts, max_length=4)
    assert len(expected) == 2
    for given in (pretrained / "zh-en", str(pretrained / "zh-en")):
        assert load(given).translate(texts, max_length=4) == expected
    assert Translator.load(pretrained / "zh-en").translate(texts, max_length=4) == expected
    assert prosector.load("zh-en").translate(texts, max_length=4) == expected
    monkeypatch.chdir(pretrained)
    assert find_model("./en-zh") == Path("en-zh")


@pytest.mark.parametrize("fails_at", range(1, 9))
def test_a_model_is_replaced_whole_or_not_at_all(pretrained, monkeypatch, fails_at):
    """Whichever of the moves fails, the old model is there as it was, and nothing else is left lying about."""
    folder, moves, move = pretrained / "zh-en", [], os.replace
    before = {file.name: file.read_bytes() for file in folder.iterdir()}

    def replace(source, target):
        if Path(source).parent.name.startswith((".new-", ".old-")) or Path(target).parent.name.startswith(".old-"):
            moves.append(target)
            if len(moves) == fails_at:
                raise OSError("the disk is full")
        move(source, target)

    config, model, source, target = read_model(folder)
    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="full"):
        write_model(folder, config, config.model.build(), [source, target], "# Another\n")
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before

    moves.clear()  # and where nothing was before, nothing is left; four files are moved
    if fails_at <= 4:
        with pytest.raises(OSError, match="full"):
            write_model(folder.parent / "fresh", config, model, [source, target], "# Another\n")
        assert not list((folder.parent / "fresh").iterdir())


@pytest.mark.parametrize("name", ["zh-ne", "", "no/such/folder"])
def test_an_unknown_name_is_told_what_there_is(pretrained, name):
    with pytest.raises(FileNotFoundError, match=r"en-zh, zh-en.*folder") as refused:
        load(name)
    assert repr(name) in str(refused.value)


def test_a_folder_without_a_model_says_so(pretrained):
    with pytest.raises(FileNotFoundError, match=r"no-model is not a model: it has no config\.json"):
        load(pretrained / "no-model")


def test_the_script_chooses_the_translator(pretrained):
    assert translator_for("我喜欢深度学习。").config.target == "en"
    assert translator_for("I like deep learning.").config.target == "zh"
    assert translator_for("你好") is translator_for("谢谢")


def test_importing_prosector_loads_nothing_heavy():
    heavy = {"torch", "numpy", "pydantic", "sentencepiece", "sacrebleu"}
    code = f"import prosector, sys; sys.exit(' '.join({heavy} & sys.modules.keys()) or None)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_the_version_is_the_packages():
    document = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    assert prosector.__version__ == document["project"]["version"]
