"""A race of training steps: the same weights have the same loss, and what is told of it is right."""

import json

import pytest
import torch

from prosector.bench import apart, contest, peers, trainers, training
from prosector.bench.rounds import Rate
from prosector.cli.main import main
from prosector.config.training import TrainingConfig
from prosector.training.optimizer import build_optimizer

TINY = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}


def here(order, environment):
    """What is ordered, in this process."""
    threads = torch.get_num_threads()
    try:
        return apart.done(order)
    finally:
        torch.set_num_threads(threads)


@pytest.fixture
def tiny(monkeypatch):
    """Small, and nobody trains."""
    monkeypatch.setitem(contest.SIZES, "tiny", TINY)
    monkeypatch.setattr(apart, "ask", lambda order, environment: apart.Turn(7.0, 9.0, "ours"))


@pytest.fixture(scope="module")
def result():
    """Everybody in this process, in both types and with both allocators."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(contest.SIZES, "tiny", TINY)
        patch.setattr(training.platform, "libc_ver", lambda: ("glibc", "2.36"))
        yield training.run("tiny", 0.0, ("float32", "bf16"), ask=here)


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


def test_everybody_trains_in_both_types_with_both_allocators(result):
    kinds = [f"{precision}{suffix}" for precision in ("float32", "bf16") for suffix in ("", ", tuned")]
    assert {f"{name}, {kind}" for name in trainers.CONTENDERS for kind in kinds} == result.rates.keys()
    assert len(trainers.CONTENDERS) == 7
    assert all(rate.median > 0 for rate in result.rates.values())


def test_torch_nn_drops_as_much_as_ours():
    """A tenth after embeddings and sublayers, and nothing of attention weights and hidden values."""
    config = contest.config_of("small", d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.1)
    theirs = peers.TorchTranslator(config, trainers.LENGTH)
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
    given = trainers.sentences(4, 8000)
    model = contest.config_of("small", d_model=32, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.0).build()
    one = trainers.Contender(model, trainers.our_loss(model, given), "ours")
    optimizer = build_optimizer(model, TrainingConfig(learning_rate=trainers.LEARNING_RATE))
    step, before = trainers.stepping(one, optimizer, "float32", given.n_tokens), trainers.untrained(one, "float32")
    assert [step() for _ in range(5)] == [float(given.n_tokens)] * 5
    assert trainers.untrained(one, "float32") < before


def test_labels_are_the_decoders_input_one_further():
    given = trainers.sentences(8, 8000)
    assert torch.equal(given.tgt_in[:, 1:], given.labels[:, :-1])
    assert given.n_tokens == int((given.labels != 0).sum()) == int((given.src != 0).sum())


def test_the_ratio_is_ours_over_the_best_peer_and_told_for_each_allocator_too():
    rates = {
        "prosector, a": 30.0,
        "prosector, b, tuned": 24.0,
        "torch.nn.Transformer": 10.0,
        "Hugging Face Marian": 12.0,
        "Hugging Face Marian, tuned": 15.0,
    }
    result = training.Result("small", 1, 1.0, {}, {}, {name: Rate(v, v, v, 1) for name, v in rates.items()}, {})
    assert result.ratio == 2.0
    assert result.record()["ratios"] == {"as it is": 2.5, "tuned": 1.6}


@pytest.mark.parametrize("library, names", [("glibc", {"", ", tuned"}), ("", {""})])
def test_only_glibcs_allocator_is_tuned(library, names, monkeypatch):
    monkeypatch.setattr(training.platform, "libc_ver", lambda: (library, ""))
    assert training.allocators().keys() == names


def test_whose_turn_it_is_is_told(tiny):
    told = []
    training.run("tiny", 0.0, ("float32",), tell=lambda *turn: told.append(turn))
    turns = 7 * len(training.allocators())
    assert told[0] == ("prosector, written-out, float32", 1, turns)
    assert told[turns - 1][1:] == (turns, turns)
    assert len(told) > turns


def test_the_command_trains_and_writes_all_figures(tiny, tmp_path, capsys):
    file = tmp_path / "all.json"
    given = ["--seconds", "0.1", "--precision", "float32"]
    assert main(["bench", "--training", "tiny", *given, "--json", str(file)]) == 0
    [record] = json.loads(file.read_text("utf-8"))["training"]
    said = capsys.readouterr()
    assert f"ours is {record['ratio']:.2f} × as fast as the best peer" in said.out
    assert "tiny: prosector, written-out, float32, 1 of" in said.err
    assert len(record["rates"]) == len(record["losses"]) == 7 * len(training.allocators())
    assert all(name.removesuffix(", tuned").endswith(", float32") for name in record["rates"])
