"""A contest of decoders: all write the same from the same weights, and the table says what was measured."""

import json

import pytest
import torch

from prosector.bench import contest, decoding, engines, report
from prosector.bench.rounds import Rate
from prosector.cli.main import main
from prosector.data.corpus import Pair
from prosector.decoding import native

pytestmark = pytest.mark.skipif(native.core() is None, reason="no compiler has built the native core")


@pytest.fixture(scope="module")
def tiny():
    """Small enough for a test; in eight bits too its words are the same."""
    contest.SIZES["tiny"] = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}
    yield contest.made_up("tiny", 3)
    del contest.SIZES["tiny"]


@pytest.mark.parametrize("beam", [1, 3])
def test_every_engine_writes_what_our_float32_model_writes(tiny, beam):
    reference = engines.of_pytorch(tiny, beam, "float32")()
    assert [len(ids) for ids in reference] == [contest.STEPS] * 3
    assert engines.of_ctranslate2(tiny, beam, "float32", 1, 1)() == reference
    assert engines.of_ctranslate2(tiny, beam, "float32", 1, 2)() == reference
    assert engines.of_hugging_face(tiny, beam, "float32")() == reference
    for other in (engines.of_native(tiny, beam, 2), engines.of_ctranslate2(tiny, beam, "int8", 1, 1)):
        assert [len(ids) for ids in other()] == [contest.STEPS] * 3


def test_a_shipped_model_ends_its_sentences_and_has_a_bleu():
    pairs = [Pair("我喜欢猫。", "I like cats."), Pair("今天天气很好。", "The weather is nice today.")]
    real = contest.real("zh-en", pairs)
    found = engines.of_native(real, 4, 1)()
    assert all(0 < len(ids) < longest for ids, longest in zip(found, real.longest, strict=True))
    assert decoding.bleu(real, found) > 20
    assert decoding.bleu(real, [real.target.encode(pair.target) for pair in pairs]) == pytest.approx(100)


def test_the_ratio_is_that_of_the_best_settings():
    def entry(median):
        return decoding.Entry(Rate(median, median, median, 1), 1.0, None)

    entries = {"prosector, a": entry(30.0), "prosector, b": entry(60.0), "CTranslate2, a": entry(20.0)}
    result = decoding.Result("small", 1, 1, entries | {"prosector on PyTorch": entry(999.0)}, {}, {})
    assert result.ratio == 3.0
    [table] = report.tables("decoding", result.record())
    assert [row[2] for row in table.rows] == ["49.95 ×", "3.00 ×", "1.50 ×", "1.00 ×"]


def test_the_same_share_counts_whole_sentences():
    assert decoding.same([[1, 2], [3]], [[1, 2], [4]]) == 0.5


def test_the_command_prints_a_table_and_writes_all_figures(tiny, tmp_path, capsys):
    threads = torch.get_num_threads()
    arguments = ["bench", "tiny", "--beam", "1", "--sentences", "1,2", "--seconds", "0.1", "--threads", "2"]
    try:
        assert main([*arguments, "--json", str(tmp_path / "all.json")]) == 0
    finally:
        torch.set_num_threads(threads)
    out = capsys.readouterr().out
    figures = json.loads((tmp_path / "all.json").read_text("utf-8"))
    one, two = figures["decoding"]
    assert (one["n"], two["n"]) == (1, 2)
    assert f"ours is {one['ratio']:.2f} × as fast as CTranslate2" in out
    assert set(one["entries"]) < set(two["entries"])
    assert figures["machine"]["versions"]["ctranslate2"] != "not installed"
    assert all(value["median"] > 0 for value in figures["ceilings"].values())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--beam", "1,x"], "--beam '1,x': give whole numbers above 0"),
        (["--sentences", "0"], "--sentences '0': give whole numbers above 0"),
        (["zh-en"], "what shall zh-en translate? give --data FILE"),
        (["vit"], "vit is of the kind vit"),
        (["nothing"], "there is no model 'nothing'"),
        (["--training", "--long"], "--training, --tokenising and --long are contests of their own"),
        (["--training", "--precision", "int4"], "--precision 'int4': give float32 or bf16"),
        (["--tokenising"], "what shall zh-en translate? give --data FILE"),
        (["--long", "small"], "--long takes no model: leave small out"),
        (["--figure", "all.gif"], "--figure all.gif: give a file that ends with .png, .pdf or .svg"),
        (["--figure", "nowhere/all.png"], "there is no folder nowhere"),
        (["--training", "zh-en"], "--training zh-en: give small or base"),
        (["--training", "--json", "nowhere/all.json"], "--json nowhere/all.json: there is no folder nowhere"),
        (["--training", "--joeynmt", "nowhere/python"], "--joeynmt nowhere/python: there is no such program"),
    ],
)
def test_what_cannot_be_raced_is_said_before_anything_is_measured(arguments, says, capsys):
    assert main(["bench", *arguments]) == 2
    assert says in capsys.readouterr().err
