"""`prosector generate` as people call it."""

import json

import pytest
from tests.cli.calls import PAIRS

RECIPE = """
description = "As small as can be, for tests."

[model]
kind = "gpt"
d_model = 32
n_heads = 2
d_ff = 64
layers = 1

[tokenizer]
kind = "characters"
vocab_size = 100

[data]
context = 32
batch_tokens = 256

[training]
steps = 150
learning_rate = 1e-2
warmup = 5
save_every = 50
validate_every = 50
threads = 1
"""


@pytest.fixture(scope="module")
def gpt(tmp_path_factory):
    """A model that `prosector train` made from one column of a table."""
    from prosector.cli.main import main

    folder = tmp_path_factory.mktemp("gpt")
    (folder / "gpt.toml").write_text(RECIPE, "utf-8")
    (folder / "pairs.tsv").write_text("".join(f"{en}\t{zh}\n" for en, zh in PAIRS), "utf-8")
    data = f"{folder / 'pairs.tsv'}:2"
    assert main(["train", str(folder / "gpt.toml"), "--data", data, "--out", str(folder / "model")]) == 0
    return folder / "model"


def test_it_goes_on_to_the_end_of_the_line(prosector, gpt):
    result = prosector("generate", "--model", gpt, "我喜", "--temperature", 0)
    assert result.code == 0
    assert result.out in {f"{zh}\n" for _, zh in PAIRS if zh.startswith("我喜")}


def test_its_surprise_is_measured_in_bits_a_byte(prosector, gpt, tmp_path):
    data = f"{gpt.parent / 'pairs.tsv'}:2"
    result = prosector("evaluate", "--model", gpt, "--data", data, "--json", tmp_path / "scores.json")
    figures = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert f"bits   {figures['bits_per_byte']:.3f} a byte" in result.out
    assert figures["n_lines"] == len(PAIRS)
    assert figures["n_bytes"] == sum(len(zh.encode()) + 1 for _, zh in PAIRS)
    assert figures["bits_per_byte"] < 1


def test_lines_seeds_and_pipes(prosector, gpt):
    several = prosector("generate", "--model", gpt, "--lines", 3, "--seed", 5, stdin="我们")
    assert several.out.count("\n") == 3
    assert several.out.startswith("我们")
    assert prosector("generate", "--model", gpt, "我们", "--lines", 3, "--seed", 5).out == several.out
    assert prosector("generate", "--model", gpt, "-", "--max-length", 1, stdin="我喜").out.startswith("我喜")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--top-p", 0), "--top-p 0: a probability above 0"),
        (("--temperature", -1), "'--temperature': Input should be greater than or equal to 0"),
        (("--lines", 0), "'--lines': Input should be greater than or equal to 1"),
        (("--model", "nobody"), "there is no model 'nobody'"),
    ],
)
def test_mistakes_are_named(prosector, gpt, options, what):
    result = prosector("generate", "--model", gpt, "我", *options)
    assert result.code == 2
    assert what in result.err


def test_a_translator_does_not_generate_and_a_writer_does_not_translate(prosector, gpt, model):
    assert "cannot write texts: it is of the kind transformer" in prosector("generate", "--model", model, "a").err
    assert "cannot translate: it is of the kind gpt" in prosector("translate", "--model", gpt, "a").err


def test_a_column_that_is_not_there_is_named(prosector, gpt, tmp_path):
    data = f"{gpt.parent / 'pairs.tsv'}:3"
    result = prosector("train", gpt.parent / "gpt.toml", "--data", data, "--out", tmp_path / "out")
    assert result.code == 2
    assert "line 1: 2 columns, and column 3 is wanted" in result.err
