"""Learning to write: a toy language's lines, stopped and resumed, and what the folder says."""

import hashlib

import pytest
import torch
from tests.training.sentences import PAIRS
from tests.training.test_run import Recorder, train_until

import prosector
from prosector.config.run import run_from
from prosector.decoding.folder import read_model, read_writer
from prosector.training.run import train


@pytest.fixture
def config(tmp_path):
    (tmp_path / "lines.txt").write_text("".join(f"{pair.target}\n" for pair in PAIRS), "utf-8")

    def make(**training):
        tree = {
            "model": {"kind": "gpt", "d_model": 32, "n_heads": 2, "d_ff": 64, "layers": 1},
            "tokenizer": {"kind": "words"},
            "data": {
                "train": [{"path": str(tmp_path / "lines.txt"), "licence": "ours"}],
                "context": 16,
                "batch_tokens": 128,
            },
            "training": {"steps": 24, "warmup": 4, "save_every": 4, "validate_every": 8, "learning_rate": 1e-2}
            | training,
        }
        return run_from(tree, (), "here")

    return make


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_it_learns_the_language(config, tmp_path):
    recorder = Recorder()
    outcome = train(config(steps=200, validate_every=100), tmp_path / "out", recorder)
    assert outcome.validation.loss < 1.2 < recorder.losses[1]
    writer = prosector.load(tmp_path / "out")
    line = writer.write("the teachers", temperature=0)
    assert "the teachers" + line in {pair.target for pair in PAIRS}
    text = (tmp_path / "out/README.md").read_text("utf-8")
    assert "# A writer" in text
    assert "| `lines.txt` | all |  | ours |" in text
    assert "bits/byte" in text


def test_stopped_and_resumed_it_ends_with_the_same_bits(config, tmp_path):
    train(config(), tmp_path / "whole", Recorder())
    train_until(11, config(), tmp_path / "parts")
    train(config(), tmp_path / "parts", Recorder(), resume=True)
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")


def test_it_can_be_trained_further(config, tmp_path):
    train(config(steps=100, validate_every=100), tmp_path / "first", Recorder())
    tuned = Recorder()
    train(config(steps=8, warmup=2), tmp_path / "tuned", tuned, start_from=tmp_path / "first")
    assert tuned.losses[1] < 0.7 * 3.2
    assert "It began as first" in (tmp_path / "tuned/README.md").read_text("utf-8")


def test_a_writer_is_no_translator(config, tmp_path):
    train(config(steps=2, warmup=1), tmp_path / "out", Recorder())
    with pytest.raises(ValueError, match="cannot translate: it is of the kind gpt"):
        read_model(tmp_path / "out")
    found, model, tokenizer = read_writer(tmp_path / "out")
    assert (found.context, model.config.vocab) == (16, tokenizer.vocab_size)
    assert model(torch.tensor([[3, 4]])).shape == (1, 2, tokenizer.vocab_size)


def test_positions_that_end_before_the_context_are_named(config):
    with pytest.raises(ValueError, match=r"the model has 8 positions, and data\.context=16"):
        run_from(
            config().model_dump() | {"model": {"kind": "gpt", "position": {"kind": "learned", "max_length": 8}}},
            (),
            "x",
        )
