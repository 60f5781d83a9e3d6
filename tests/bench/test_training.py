"""A race of training steps: the same weights have the same loss, and what is told of it is right."""

import json

import pytest
import torch

from prosector.bench import contest, training
from prosector.bench.rounds import Rate
from prosector.cli.main import main


@pytest.fixture
def tiny(monkeypatch):
    """Small enough for a test."""
    sizes = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}
    monkeypatch.setitem(contest.SIZES, "tiny", sizes)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_untrained_ours_and_marian_have_one_loss(tiny, precision):
    result = training.run("tiny", 0.0, precision)
    marian = result.losses["Hugging Face Marian, sdpa"]
    within = 1e-5 if precision == "float32" else 2e-2
    for name in ("prosector, written-out", "prosector, sdpa", "Hugging Face Marian, eager"):
        assert result.losses[name] == pytest.approx(marian, abs=within)
    assert result.losses["torch.nn.Transformer"] == pytest.approx(marian, abs=1.0)  # weights of its own
    assert all(rate.median > 0 for rate in result.rates.values())


def test_a_step_learns():
    torch.manual_seed(0)
    given = training.sentences(4)
    model = contest.config_of("small", d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.0).build()
    loss = training.our_loss(model, given, "float32")
    step, before = training.stepping(model, loss, given.n_tokens), loss().item()
    assert [step() for _ in range(5)] == [float(given.n_tokens)] * 5
    assert loss().item() < before


def test_labels_are_the_decoders_input_one_further():
    given = training.sentences(8)
    assert torch.equal(given.tgt_in[:, 1:], given.labels[:, :-1])
    assert given.n_tokens == int((given.labels != 0).sum()) == int((given.src != 0).sum())


def test_the_ratio_is_ours_over_the_best_peer():
    rates = {"prosector, a": 30.0, "prosector, b": 20.0, "torch.nn.Transformer": 10.0, "Hugging Face Marian": 15.0}
    result = training.Result("small", "bf16", 1.0, {}, {name: Rate(v, v, v, 1) for name, v in rates.items()})
    assert (result.best, result.ratio) == (15.0, 2.0)


def test_the_command_trains_and_writes_all_figures(tiny, tmp_path, capsys):
    file = tmp_path / "all.json"
    assert main(["bench", "--training", "tiny", "--seconds", "0.1", "--json", str(file)]) == 0
    [record] = json.loads(file.read_text("utf-8"))["training"]
    assert f"ours is {record['ratio']:.2f} × as fast as the best peer" in capsys.readouterr().out
    assert len(record["rates"]) == len(record["losses"]) == 5
