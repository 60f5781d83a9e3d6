"""A run is a function of its config and data: stopped and resumed, it ends with the same bits."""

import hashlib
import io
import json
from pathlib import Path

import pytest
import torch
from tests.training.sentences import DEV, PAIRS, TRAIN, write_table

from prosector.config.run import RunConfig
from prosector.data.corpus import Pair, read_split
from prosector.decoding.folder import read_model
from prosector.models.weights import weights_of
from prosector.training import translation
from prosector.training.loop import InterruptedRunError, Loop
from prosector.training.report import LineReporter
from prosector.training.run import prepare, train, work_of


class Recorder(LineReporter):
    """Remembers what it was told, and may ask for something at a step."""

    def __init__(self, at=None, then=None):
        super().__init__(stream=io.StringIO())
        self.at, self.then, self.losses, self.validations, self.said = at, then, {}, [], []

    def say(self, text):
        self.said.append(text)

    def step(self, step, loss, learning_rate, size):
        self.losses[step] = loss
        if step == self.at:
            self.then()

    def validated(self, step, figures, samples):
        self.validations.append((step, figures, samples))


@pytest.fixture
def config(tmp_path):
    train_file, dev_file = write_table(tmp_path / "train.tsv", TRAIN), write_table(tmp_path / "dev.tsv", DEV)

    def make(**training):
        return RunConfig.model_validate(
            {
                "model": {"d_model": 32, "n_heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1},
                "tokenizer": {"kind": "words"},
                "data": {
                    "train": [{"path": str(train_file)}],
                    "dev": [{"path": str(dev_file)}],
                    "batch_tokens": 100,
                },
                "training": {
                    "steps": 24, "warmup": 4, "save_every": 4, "validate_every": 8, "average": 3, "learning_rate": 5e-3,
                }
                | training,
            }
        )  # fmt: skip

    return make


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_a_small_run_learns_what_it_was_never_shown(config, tmp_path):
    """Seven eighths of the sentences are enough to translate the last eighth."""
    recorder = Recorder()
    outcome = train(config(steps=160, validate_every=40), tmp_path / "out", recorder)
    assert outcome.validation.scores["BLEU"] > 80
    assert recorder.losses[160] < 0.5 * recorder.losses[1]
    found, model, source, target = read_model(tmp_path / "out")
    assert (found.source, found.target) == ("zh", "en")
    src = torch.tensor([[*source.encode("我喜欢鸟。"), 3]])
    tgt = torch.tensor([[2, *target.encode("I like the bird.")]])
    assert model(src, tgt)[0].argmax(-1).tolist() == [*target.encode("I like the bird."), 3]


def test_the_same_config_gives_the_same_bits_and_another_seed_others(config, tmp_path):
    for name, seed in (("one", 1), ("again", 1), ("other", 2)):
        train(config(steps=6, warmup=2, seed=seed), tmp_path / name, Recorder())
    assert digest(tmp_path / "one") == digest(tmp_path / "again") != digest(tmp_path / "other")


def train_until(step, config, folder, **options):
    """A run that is asked to stop after so many steps, and does."""

    def ask():
        loops[0].asked_to_stop = True

    loops = []
    with pytest.MonkeyPatch.context() as patch:
        original = Loop.run
        patch.setattr(Loop, "run", lambda self: (loops.append(self), original(self)))
        with pytest.raises(InterruptedRunError):
            train(config, folder, Recorder(at=step, then=ask), **options)


@pytest.mark.parametrize("stop_at", [3, 8, 17, 23])
def test_stopped_and_resumed_it_ends_with_the_same_bits(config, tmp_path, stop_at):
    train(config(), tmp_path / "whole", Recorder())
    train_until(stop_at, config(), tmp_path / "parts")
    resumed = Recorder()
    train(config(), tmp_path / "parts", resumed, resume=True)
    assert min(resumed.losses) == stop_at + 1
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")
    logs = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in log.read_text().splitlines()]
        for log in sorted(tmp_path.glob("*/training/log.jsonl"))
    ]
    assert logs[0] == logs[1]


def test_killed_between_checkpoints_it_goes_back_to_the_last_one(config, tmp_path):
    """Whatever was done and logged after the checkpoint is done again, and stands in the log once."""

    class Killed(BaseException):
        pass

    def kill():
        raise Killed

    train(config(), tmp_path / "whole", Recorder())
    with pytest.raises(Killed):
        train(config(), tmp_path / "parts", Recorder(at=15, then=kill))
    resumed = Recorder()
    train(config(), tmp_path / "parts", resumed, resume=True)
    assert min(resumed.losses) == 13
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")
    steps = [json.loads(line)["step"] for line in (tmp_path / "parts/training/log.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)
    assert steps.count(10) == 1


def loop_of(run):
    """The loop of a run that nobody has begun."""
    torch.manual_seed(run.training.seed)
    work = work_of(run)
    work.read()
    return prepare(work, work.afresh(), Path("nowhere"), Recorder())


def test_accumulated_batches_are_one_large_batch(config, tmp_path):
    """Batches whose gradients are added move the weights as one of all their sentences does (dropout off)."""
    base = config(steps=1, warmup=0, validate_every=4, average=1, precision="float32")
    base = base.model_copy(update={"model": type(base.model)(**base.model.model_dump() | {"dropout": 0.0})})
    gradients = []
    for budget, accumulate in ((100, None), (100_000, 1)):
        data = base.data.model_dump() | {"batch_tokens": budget}
        if accumulate is None:  # as many as an epoch has
            accumulate = n_batches = len(
                loop_of(RunConfig.model_validate(base.model_dump() | {"data": data})).task.epoch(0)
            )
        changes = {"data": data, "training": base.training.model_dump() | {"accumulate": accumulate}}
        loop = loop_of(RunConfig.model_validate(base.model_dump() | changes))
        loop.optimizer.zero_grad = lambda set_to_none: None  # so that the gradients can be seen
        loop.update()
        gradients.append(torch.cat([p.grad.flatten() for p in loop.model.parameters()]))
    assert n_batches >= 4
    torch.testing.assert_close(gradients[0], gradients[1], rtol=0, atol=1e-6)


def test_patience_ends_a_run_that_gets_no_better(config, tmp_path):
    outcome = train(config(learning_rate=1e-9, steps=200, patience=2), tmp_path / "out", Recorder())
    assert outcome.step == 24  # the first validation is the best so far, two more are not better


def test_fine_tuning_begins_where_the_model_ended(config, tmp_path):
    train(config(steps=120, validate_every=120), tmp_path / "first", Recorder())
    tuned, fresh = Recorder(), Recorder()
    train(config(steps=8, warmup=2), tmp_path / "tuned", tuned, start_from=tmp_path / "first")
    train(config(steps=8, warmup=2), tmp_path / "fresh", fresh)
    assert tuned.losses[1] < 0.6 * fresh.losses[1]


def test_a_resumed_fine_tuning_still_says_what_it_began_as(config, tmp_path):
    train(config(steps=2, warmup=1), tmp_path / "first", Recorder())
    train_until(5, config(), tmp_path / "tuned", start_from=tmp_path / "first")
    train(config(), tmp_path / "tuned", Recorder(), resume=True)
    assert "It began as first, and was trained further" in (tmp_path / "tuned/README.md").read_text("utf-8")


def test_fine_tuning_the_other_way_is_refused(config, tmp_path):
    train(config(steps=2, warmup=1), tmp_path / "first", Recorder())
    turned = config().model_dump() | {"data": config().data.model_dump() | {"source": "en", "target": "zh"}}
    with pytest.raises(ValueError, match="translates zh to en, this run en to zh"):
        train(RunConfig.model_validate(turned), tmp_path / "second", Recorder(), start_from=tmp_path / "first")


def test_nothing_is_overwritten_and_nothing_resumed_that_is_not_there(config, tmp_path):
    with pytest.raises(ValueError, match="holds no run to resume"):
        train(config(), tmp_path / "out", Recorder(), resume=True)
    train(config(steps=2, warmup=1), tmp_path / "out", Recorder())
    with pytest.raises(ValueError, match="already holds a model or a run"):
        train(config(), tmp_path / "out", Recorder())


def test_other_data_are_noticed_on_resuming(config, tmp_path):
    made = config(steps=8)
    train(made, tmp_path / "out", Recorder())
    write_table(tmp_path / "train.tsv", PAIRS[:40])
    with pytest.raises(ValueError, match="the data are not those"):
        train(made, tmp_path / "out", Recorder(), resume=True)


def test_without_development_files_the_first_pairs_are_held_out(config, tmp_path):
    made = config(steps=2, warmup=1)
    made = made.model_copy(update={"data": made.data.model_copy(update={"dev": ()})})
    recorder = Recorder()
    train(made, tmp_path / "out", recorder)
    assert any("51 pairs to train on" in text and "5 to choose on" in text for text in recorder.said)


def test_a_folder_with_something_else_in_it_is_left_alone(config, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "README.md").write_text("my own")
    with pytest.raises(ValueError, match=r"mine is not empty \(it holds README.md\)"):
        train(config(), tmp_path / "mine", Recorder())
    assert (tmp_path / "mine" / "README.md").read_text() == "my own"
    with pytest.raises(ValueError, match="is a file; --out names a folder"):
        train(config(), tmp_path / "mine" / "README.md", Recorder())


def test_two_runs_cannot_share_a_folder(config, tmp_path):
    def second():
        with pytest.raises(ValueError, match="another run is in"):
            train(config(), tmp_path / "out", Recorder())

    first = Recorder(at=2, then=second)
    train(config(steps=4, warmup=1), tmp_path / "out", first)
    assert sorted(first.losses) == [1, 2, 3, 4]


def test_a_second_run_that_finds_a_model_when_it_has_read_its_data_leaves_it_alone(config, tmp_path, monkeypatch):
    def read(data):
        monkeypatch.undo()
        train(config(steps=2, warmup=1, seed=5), tmp_path / "out", Recorder())  # another run comes in between
        return read_split(data)

    monkeypatch.setattr(translation, "read_split", read)
    with pytest.raises(ValueError, match="already holds a model or a run"):
        train(config(steps=2, warmup=1), tmp_path / "out", Recorder())
    train(config(steps=2, warmup=1, seed=5), tmp_path / "alone", Recorder())
    assert digest(tmp_path / "out") == digest(tmp_path / "alone")


@pytest.mark.parametrize("rate", [1e30, 1e12])
def test_a_run_that_diverges_says_so_and_leaves_no_model(config, tmp_path, rate):
    with pytest.raises(ValueError, match=r"step \d+: the loss is .* begin anew with training.learning_rate below 1e\+"):
        train(config(learning_rate=rate, warmup=0, clip=1e30), tmp_path / "out", Recorder())
    assert not (tmp_path / "out" / "config.json").exists()


def test_resuming_a_run_that_is_done_writes_the_same_model_and_the_same_log(config, tmp_path):
    train(config(steps=4, warmup=1), tmp_path / "out", Recorder())
    log, model = (tmp_path / "out" / name for name in ("training/log.jsonl", "model.safetensors"))
    before = log.read_text(), model.read_bytes()
    train(config(), tmp_path / "out", Recorder(), resume=True)
    assert (log.read_text(), model.read_bytes()) == before


def test_half_precision_on_disk_is_half_the_file_and_what_was_measured(config, tmp_path):
    whole = train(config(steps=24), tmp_path / "whole", Recorder())
    half = train(config(steps=24, save_as="float16"), tmp_path / "half", Recorder())
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    weights = weights_of(read_model(tmp_path / "half")[1])
    for name, value in weights_of(read_model(tmp_path / "whole")[1]).items():
        assert torch.equal(weights[name], value.half().float())
    assert half.validation.loss == pytest.approx(whole.validation.loss, abs=1e-2)


@pytest.mark.parametrize("position", [{"kind": "learned", "max_length": 12}, "one-hot"])
def test_development_sentences_beyond_the_positions_are_left_out(config, tmp_path, position):
    long = [Pair("我" * 40 + "。", "I " * 40 + ".")]
    write_table(tmp_path / "dev.tsv", [*DEV, *long])
    run = config(steps=4, warmup=1)
    changes = {
        "model": run.model.model_dump() | {"position": position},
        "data": run.data.model_dump() | {"max_tokens": 12},
    }
    recorder = Recorder()
    train(RunConfig.model_validate(run.model_dump() | changes), tmp_path / "out", recorder)
    assert any(f"{len(DEV)} to choose on" in text for text in recorder.said)


def test_a_damaged_checkpoint_is_named(config, tmp_path):
    train(config(steps=4, warmup=1), tmp_path / "out", Recorder())
    state = tmp_path / "out" / "training" / "state.pt"
    state.write_bytes(state.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"state\.pt: damaged"):
        train(config(), tmp_path / "out", Recorder(), resume=True)


def test_too_few_pairs_are_counted(config, tmp_path):
    write_table(tmp_path / "train.tsv", PAIRS[:1])
    made = config()
    made = made.model_copy(update={"data": made.data.model_copy(update={"dev": ()})})
    with pytest.raises(ValueError, match="too few pairs: 0 to train on and 1 to choose on"):
        train(made, tmp_path / "out", Recorder())
