"""`prosector export --to ctranslate2|onnx`, and `--engine` of translate and evaluate: the same lines by other means."""

import json

import pytest
from tests.interop.hugging_face import folders

ENGINES = ("ctranslate2", "onnx")
LINES = ["我喜欢猫。", "", "他们看见鸟。你喜欢狗。", "   ", "12 : 30", "你喜欢狗。"]


@pytest.fixture(scope="module")
def exported(model, tmp_path_factory):
    """The tiny model's folder for each engine."""
    from prosector.cli.main import main

    here = tmp_path_factory.mktemp("engines")
    for name in ENGINES:
        assert main(["export", "--model", str(model), "--to", name, "--out", str(here / name)]) == 0
    return here


@pytest.mark.parametrize("engine", ENGINES)
def test_lines_are_those_of_our_own_engine(engine, prosector, model, exported):
    """In order, blank ones too, sentence by sentence, and what has no letters stays."""
    wanted = prosector("translate", "--model", model, "--beam", 1, *LINES)
    found = prosector("translate", "--engine", engine, "--model", exported / engine, "--beam", 1, *LINES)
    assert found == (0, wanted.out, "")
    assert len(found.out.splitlines()) == len(LINES)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_candidates_have_number_and_score(engine, prosector, exported):
    options = ("--engine", engine, "--model", exported / engine, "--n-best", 3, "--scores")
    rows = [line.split("\t") for line in prosector("translate", *options, *LINES).out.splitlines()]
    assert list(dict.fromkeys(number for number, *_ in rows)) == list("123456")
    scores = [float(score) for number, score, _ in rows if number == "1"]
    assert scores == sorted(scores, reverse=True)
    assert 1 < len(scores) <= 3


def test_onnx_draws_what_we_draw(prosector, model, exported):
    options = ("--temperature", 1.5, "--seed", 7, LINES[0])
    wanted = prosector("translate", "--model", model, *options).out
    assert prosector("translate", "--engine", "onnx", "--model", exported / "onnx", *options).out == wanted


def test_ctranslate2_says_that_it_does_not_draw(prosector, exported):
    options = ("--engine", "ctranslate2", "--model", exported / "ctranslate2", "--seed", 7, LINES[0])
    code, _, err = prosector("translate", *options)
    assert code == 2
    assert "leave out temperature, top_k, top_p and seed" in err


@pytest.mark.parametrize("engine", ENGINES)
def test_evaluate_takes_an_engine_and_leaves_the_loss_out(engine, prosector, here, model, exported):
    options = ("--data", here / "pairs.tsv", "--beam", 1, "--limit", 8)
    found = prosector("evaluate", "--engine", engine, "--model", exported / engine, *options)
    rows = dict(line.split(maxsplit=1) for line in found.out.splitlines())
    assert list(rows) == ["model", "data", "BLEU", "chrF", "speed"]
    assert rows["model"].endswith(f"zh-en, beam 1, by {engine}")
    with_json = ("--engine", engine, "--model", exported / engine, *options, "--json", "-")
    theirs = json.loads(prosector("evaluate", *with_json).out)
    ours = json.loads(prosector("evaluate", "--model", model, *options, "--json", "-").out)
    assert (theirs["engine"], theirs["bleu"], theirs["chrf"]) == (engine, ours["bleu"], ours["chrf"])
    assert ours.keys() - theirs.keys() == {"loss", "perplexity", "n_too_long", "n_tokens"}
    assert "engine" not in ours


def test_export_says_how_to_go_on_and_writes_int8(prosector, model, exported, tmp_path):
    options = ("--to", "ctranslate2", "--quantization", "int8", "--out", tmp_path / "small")
    code, out, err = prosector("export", "--model", model, *options)
    assert (code, out) == (0, "")
    assert f"prosector translate --engine ctranslate2 --model {tmp_path / 'small'} uses it" in err
    sizes = [
        (folder / "ctranslate2" / "model.bin").stat().st_size for folder in (tmp_path / "small", exported / ENGINES[0])
    ]
    assert sizes[0] < sizes[1]


MISTAKES = {
    "an engine without a model": (("translate", "--engine", "onnx", "你好"), "needs --model FOLDER"),
    "an installed model is not exported": (
        ("translate", "--engine", "onnx", "--model", "zh-en", "你好"),
        "has no encoder.onnx; prosector export --to onnx writes one",
    ),
    "an engine that there is not": (("translate", "--engine", "steam", "--model", "zh-en", "你好"), "steam"),
    "quantizing what is not quantized": (
        ("export", "--model", "zh-en", "--to", "onnx", "--quantization", "int8", "--out", "nowhere"),
        "--quantization int8 is for --to ctranslate2 alone",
    ),
    "quantizing for transformers": (
        ("export", "--model", "zh-en", "--quantization", "int8", "--out", "nowhere"),
        "leave it out of --to hugging-face",
    ),
}


@pytest.mark.parametrize(("arguments", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(arguments, says, prosector):
    code, _, err = prosector(*arguments)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1


def test_an_engine_evaluates_translators_alone(prosector, here, tmp_path):
    folders.gpt2(tmp_path / "theirs")
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "gpt").code == 0
    data = ("--data", here / "pairs.tsv")
    code, _, err = prosector("evaluate", "--engine", "onnx", "--model", tmp_path / "gpt", *data)
    assert code == 2
    assert "--engine onnx translates; " in err
    assert "is of the kind gpt" in err


def test_a_folder_for_ctranslate2_says_so_where_our_engine_meets_it(prosector, exported):
    code, _, err = prosector("translate", "--model", exported / "ctranslate2", "你好")
    assert code == 2
    assert "has no model.safetensors; it was written for --engine ctranslate2" in err


def test_the_default_is_still_hugging_face(prosector, tmp_path):
    code, _, err = prosector("export", "--model", "zh-en", "--out", tmp_path / "out")
    assert code == 2
    assert "Marian cannot express" in err
