"""`prosector fill`, and `train` of labels, as people call them."""

import json

import pytest
from tests.cli.calls import PAIRS

RECIPE = """
[model]
kind = "bert"
d_model = 32
n_heads = 2
d_ff = 64
layers = 1

[tokenizer]
vocab_size = 400

[data]
batch_tokens = 512
LABELS

[training]
steps = 60
learning_rate = 1e-2
warmup = 5
save_every = 30
validate_every = 30
threads = 1
"""


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A model that `prosector train` made of sentence pairs."""
    from prosector.cli.main import main

    folder = tmp_path_factory.mktemp("bert")
    (folder / "bert.toml").write_text(RECIPE.replace("LABELS", ""), "utf-8")
    (folder / "pairs.tsv").write_text("".join(f"{en}\t{zh}\n" for en, zh in PAIRS), "utf-8")
    call = ["train", str(folder / "bert.toml"), "--data", str(folder / "pairs.tsv"), "--out", str(folder / "model")]
    assert main(call) == 0
    return folder


def test_each_gap_has_a_line_and_the_text_comes_first(prosector, bert):
    result = prosector("fill", "--model", bert / "model", "我[MASK]猫[MASK]", "--top", 2)
    assert result.code == 0
    text, *gaps = result.out.splitlines()
    assert text.startswith("我")
    assert "[MASK]" not in text
    assert [line.split("\t")[0] for line in gaps] == ["1", "2"]
    assert all(len(line.split("\t")) == 3 for line in gaps)
    found = json.loads(prosector("fill", "--model", bert / "model", "我[MASK]猫[MASK]", "--top", 2, "--json").out)
    assert found["text"] == text
    assert len(found["gaps"]) == 2


def test_lines_of_standard_input_are_texts_of_their_own(prosector, bert):
    texts = ["我[MASK]猫", "", "你[MASK]狗[MASK]"]
    one, _, two = (prosector("fill", "--model", bert / "model", text).out if text else "\n" for text in texts)
    result = prosector("fill", "--model", bert / "model", "-", stdin="\n".join(texts) + "\n")
    assert (result.code, result.out) == (0, f"{one}\n{two}")
    lines = prosector("fill", "--model", bert / "model", "-", "--json", stdin="\n".join(texts)).out.split("\n")
    assert len(json.loads(lines[0])["gaps"]) == 1
    assert lines[1] == ""
    assert len(json.loads(lines[2])["gaps"]) == 2
    wrong = prosector("fill", "--model", bert / "model", "-", stdin=b"\xff[MASK]\n")
    assert (wrong.code, wrong.out) == (2, "")
    assert "standard input, line 1: not UTF-8" in wrong.err


def test_labels_are_named_with_their_files(prosector, bert, tmp_path):
    (tmp_path / "label.toml").write_text(
        RECIPE.replace("batch_tokens = 512", "each = 5\ndev = 5\ntest = 5").replace("LABELS", "[data.labels]"), "utf-8"
    )
    pairs = bert / "pairs.tsv"
    data = ("--data", f"en={pairs}:1", "--data", f"zh={pairs}:2")
    call = ("train", tmp_path / "label.toml", *data, "--out", tmp_path / "out", "--from", bert / "model")
    assert prosector(*call).code == 0
    assert json.loads((tmp_path / "out/config.json").read_text("utf-8"))["labels"] == ["en", "zh"]
    assert "write LABEL=FILE" in prosector("train", tmp_path / "label.toml", "--data", "x.txt").err


def test_mistakes_are_named(prosector, bert, model):
    assert "there is no [MASK] in '猫'" in prosector("fill", "--model", bert / "model", "猫").err
    assert "cannot fill gaps: it is of the kind transformer" in prosector("fill", "--model", model, "[MASK]").err
