"""A race of training steps: the same weights have the same loss, and what is told of it is right."""

import json

import pytest
import torch

from prosector.bench import contest, peers, training
from prosector.bench.rounds import Rate
from prosector.cli.main import main
from prosector.config.training import TrainingConfig
from prosector.training.optimizer import build_optimizer

TINY = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture
def tiny(monkeypatch):
    """Small enough for a test."""
    monkeypatch.setitem(contest.SIZES, "tiny", TINY)


@pytest.fixture(scope="module")
def result():
    """Everybody in this process, in both types."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(contest.SIZES, "tiny", TINY)
        yield training.run("tiny", 0.0, ("float32", "bf16"))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_untrained_ours_and_marian_have_one_loss(result, precision):
    marian = result.losses[f"Hugging Face Marian, sdpa, {precision}"]
    within = 1e-5 if precision == "float32" else 2e-2
    for name in ("prosector, written-out", "prosector, sdpa", "Hugging Face Marian, eager"):
        assert result.losses[f"{name}, {precision}"] == pytest.approx(marian, abs=within)
        assert result.weights[f"{name}, {precision}"] == "ours"
    for name in ("torch.nn.Transformer", "x-transformers, sdpa", "x-transformers, eager"):
        assert result.losses[f"{name}, {precision}"] == pytest.approx(marian, abs=1.0)
        assert result.weights[f"{name}, {precision}"] == "its own"


def test_everybody_trains_in_both_types(result):
    names = {name.rpartition(", ")[0] for name in result.rates}
    assert {f"{name}, {precision}" for name in names for precision in ("float32", "bf16")} == result.rates.keys()
    assert len(names) == 7
    assert all(rate.median > 0 for rate in result.rates.values())


def test_torch_nn_drops_as_much_as_ours():
    """A tenth after embeddings and sublayers, and nothing of attention weights and hidden values."""
    config = contest.config_of("small", d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.1)
    theirs = peers.TorchTranslator(config, training.LENGTH)
    rates = {type(part).__name__: part.dropout for part in theirs.core.modules() if hasattr(part, "dropout")}
    assert rates["MultiheadAttention"] == rates["TransformerEncoderLayer"].p == rates["TransformerDecoderLayer"].p == 0
    assert {part.p for name, part in theirs.core.named_modules() if name[-8:-1] == "dropout"} == {0.1}


@pytest.mark.parametrize("flash", [True, False])
def test_no_word_of_x_transformers_sees_what_comes_after_it_or_padding(flash):
    torch.manual_seed(0)
    config = contest.config_of("small", d_model=32, n_heads=2, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.1)
    model = peers.XTransformer(config, 6, flash).eval()
    src, tgt = torch.randint(4, 8000, (2, 1, 6)).unbind()
    src[:, 4:] = 0
    logits = model(src, tgt)
    assert logits.shape == (1, 6, config.target_vocab)
    later = tgt.clone()
    later[:, 3:] += 1
    torch.testing.assert_close(model(src, later)[:, :3], logits[:, :3])
    assert not torch.allclose(model(src, later)[:, 3:], logits[:, 3:])
    model.encoder.token_emb.emb.weight.data[0] += 1.0  # <pad>'s own row, which is a word's logit too
    torch.testing.assert_close(model(src, tgt)[..., 1:], logits[..., 1:])


def test_a_step_learns():
    torch.manual_seed(0)
    given = training.sentences(4)
    model = contest.config_of("small", d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.0).build()
    one = training.Contender(model, training.our_loss(model, given), "ours")
    optimizer = build_optimizer(model, TrainingConfig(learning_rate=training.LEARNING_RATE))
    step, before = training.stepping(one, optimizer, "float32", given.n_tokens), training.untrained(one, "float32")
    assert [step() for _ in range(5)] == [float(given.n_tokens)] * 5
    assert training.untrained(one, "float32") < before


def test_labels_are_the_decoders_input_one_further():
    given = training.sentences(8)
    assert torch.equal(given.tgt_in[:, 1:], given.labels[:, :-1])
    assert given.n_tokens == int((given.labels != 0).sum()) == int((given.src != 0).sum())


def test_the_ratio_is_ours_over_the_best_peer():
    rates = {"prosector, a": 30.0, "prosector, b": 20.0, "torch.nn.Transformer": 10.0, "Hugging Face Marian": 15.0}
    result = training.Result("small", 1, 1.0, {}, {}, {name: Rate(v, v, v, 1) for name, v in rates.items()}, {})
    assert result.ratio == 2.0


def test_the_command_trains_and_writes_all_figures(tiny, tmp_path, capsys):
    file = tmp_path / "all.json"
    given = ["--seconds", "0.1", "--precision", "float32"]
    assert main(["bench", "--training", "tiny", *given, "--json", str(file)]) == 0
    [record] = json.loads(file.read_text("utf-8"))["training"]
    assert f"ours is {record['ratio']:.2f} × as fast as the best peer" in capsys.readouterr().out
    assert len(record["rates"]) == len(record["losses"]) == 7
    assert all(name.endswith(", float32") for name in record["rates"])
