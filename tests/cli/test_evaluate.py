"""`prosector evaluate`: figures, and where they go."""

import json

import pytest
from tests.cli.calls import PAIRS


@pytest.fixture
def evaluate(prosector, here, model):
    """Evaluate the tiny model on what it was trained on."""
    return lambda *arguments: prosector("evaluate", "--model", model, "--data", here / "pairs.tsv", *arguments)


def test_figures_come_with_their_signature(evaluate):
    result = evaluate("--limit", 8, "--beam", 1)
    assert result.code == 0
    rows = dict(line.split(maxsplit=1) for line in result.out.splitlines())
    assert list(rows) == ["model", "data", "BLEU", "chrF", "loss", "speed"]
    assert rows["data"].endswith("8 pairs")
    assert rows["model"].endswith("zh-en, beam 1")
    assert "tok:13a" in rows["BLEU"]
    assert "nc:6" in rows["chrF"]


def test_figures_as_json_and_translations_as_a_table(evaluate, translated, tmp_path):
    result = evaluate("--limit", 8, "--json", tmp_path / "scores.json", "--output", tmp_path / "out.tsv")
    assert "BLEU" in result.out
    scores = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert (scores["direction"], scores["beam"], scores["n_pairs"]) == ("zh-en", 4, 8)
    assert f"{scores['bleu']:.2f}" in result.out
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text("utf-8").splitlines()]
    assert [(english, chinese) for chinese, english, _ in rows] == PAIRS[:8]
    assert [translation for *_, translation in rows] == translated

    assert json.loads(evaluate("--limit", 8, "--json", "-").out)["chrf"] == scores["chrf"]


@pytest.fixture
def translated(prosector, model):
    """What `translate` says of the first eight sentences."""
    return prosector(
        "translate", "--engine", "pytorch", "--model", model, *(zh for _, zh in PAIRS[:8])
    ).out.splitlines()


def test_columns_and_files_side_by_side(evaluate, prosector, model, tmp_path):
    """However the pairs are written, the figures are the same."""
    expected = [line for line in evaluate("--limit", 4).out.splitlines() if line.startswith(("BLEU", "chrF", "loss"))]
    (tmp_path / "turned.tsv").write_text("".join(f"{zh}\t{en}\n" for en, zh in PAIRS[:4]), "utf-8")
    (tmp_path / "a.zh").write_text("".join(f"{zh}\n" for _, zh in PAIRS[:4]), "utf-8")
    (tmp_path / "a.en").write_text("".join(f"{en}\n" for en, _ in PAIRS[:4]), "utf-8")
    for data in (
        [tmp_path / "turned.tsv", "--columns", "zh,en"],
        [f"{tmp_path / 'a.zh'},{tmp_path / 'a.en'}"],
        [f"{tmp_path / 'a.en'},{tmp_path / 'a.zh'}"],
    ):
        result = prosector("evaluate", "--model", model, "--data", *data)
        assert [line for line in result.out.splitlines() if line.startswith(("BLEU", "chrF", "loss"))] == expected


def test_parallel_files_of_other_lengths_are_no_pairs(prosector, model, tmp_path):
    (tmp_path / "a.zh").write_text("一\n二\n", "utf-8")
    (tmp_path / "a.en").write_text("one\n", "utf-8")
    result = prosector("evaluate", "--model", model, "--data", f"{tmp_path / 'a.zh'},{tmp_path / 'a.en'}")
    assert result.code == 2
    assert "as many" in result.err.splitlines()[-1]


@pytest.mark.parametrize(("data", "of"), [("mnist-5k", "pictures of classes"), ("nuclei", "pictures with masks")])
def test_pictures_are_no_sentence_pairs(prosector, model, tmp_path, monkeypatch, data, of):
    monkeypatch.chdir(tmp_path)
    result = prosector("evaluate", "--model", model, "--data", data)
    assert result.code == 2
    assert f"--data {data} is {of}, and {model} is of the kind transformer: give sentence pairs" in result.err
    (tmp_path / data).write_text("I like cats.\t我喜欢猫。\n", "utf-8")  # a file that is called so is a file
    assert prosector("evaluate", "--model", model, "--data", data).code == 0


def test_a_folder_that_is_no_model_is_named(prosector, here, tmp_path):
    result = prosector("evaluate", "--model", tmp_path, "--data", here / "pairs.tsv")
    assert result.code == 2
    assert "config.json" in result.err
