"""`prosector train`, from a recipe to a model and back again."""

import gzip
import json
import random
import shutil
import signal
import time
from hashlib import sha256
from typing import NamedTuple

import pytest
from tests.cli.calls import PAIRS, RECIPE, start

from prosector.cli.train import presets
from prosector.config import position


def weights(folder):
    """What the run ended with, as a number that two runs can share."""
    return sha256((folder / "model.safetensors").read_bytes()).hexdigest()


@pytest.fixture
def train(prosector, here, tmp_path):
    """Train the tiny recipe into a folder of the test's own."""

    def run(*arguments, out="out", data="pairs.tsv"):
        files = ("--data", here / data) if data else ()
        return prosector("train", here / "tiny.toml", *files, "--out", tmp_path / out, *arguments)

    return run


def test_a_run_ends_by_saying_where_the_model_is_and_how_to_use_it(train, prosector, tmp_path):
    result = train()
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0].startswith(f"The model is in {tmp_path / 'out'}")
    assert "BLEU" in lines[0]
    assert lines[1] == f"Use it: prosector translate --model {tmp_path / 'out'} 我喜欢深度学习。"
    assert "step     40/40  loss" in result.err
    assert prosector(*lines[1].removeprefix("Use it: prosector ").split()).code == 0


def test_the_presets_are_listed(prosector):
    listed = prosector("train", "--list").out.splitlines()
    assert [line.split()[0] for line in listed] == [path.stem for path in presets()]
    assert all(len(line.split()) > 3 for line in listed)


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        ("training.steps", "key=value"),
        ("training.stepz=5", "training.stepz"),
        ("training.steps=0", "training.steps"),
        ("training.steps=many", "many"),
        ("model.d_model.size=3", "d_model"),
        ("model.n_heads=5", "n_heads=5"),
        ("model.position=sideways", "sideways"),
        ("data.source=fr", "fr"),
        ("tokenizer.kind=unigram", "vocab_size"),
    ],
)
def test_a_wrong_setting_is_named(train, setting, what):
    result = train("--set", setting)
    assert result.code == 2
    assert what in result.err.splitlines()[-1]


def test_settings_change_the_recipe(train, tmp_path):
    assert train("--set", "training.steps=12", "--set", "model.position=rope", "--set", "training.seed=7").code == 0
    run = json.loads((tmp_path / "out/training/run.json").read_text())
    assert (run["training"]["steps"], run["model"]["position"]["kind"], run["training"]["seed"]) == (12, "rope", 7)


def test_two_files_side_by_side_are_told_apart_by_their_endings(train, prosector, here, tmp_path):
    """The same sentences as in the table, so the same weights."""
    (tmp_path / "ours.en").write_text("".join(f"{en}\n" for en, _ in PAIRS), "utf-8")
    with gzip.open(tmp_path / "ours.zh.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{zh}\n" for _, zh in PAIRS)
    assert train(out="table").code == 0
    both = f"{tmp_path / 'ours.en'},{tmp_path / 'ours.zh.gz'}"
    assert prosector("train", here / "tiny.toml", "--data", both, "--out", tmp_path / "files").code == 0
    assert weights(tmp_path / "table") == weights(tmp_path / "files")


def test_development_pairs_and_columns_can_be_given(train, prosector, here, tmp_path):
    (tmp_path / "dev.tsv").write_text("我喜欢马。\tI like horses.\n", "utf-8")
    (tmp_path / "train.tsv").write_text("".join(f"{zh}\t{en}\n" for en, zh in PAIRS), "utf-8")
    files = ("--data", tmp_path / "train.tsv", "--dev", tmp_path / "dev.tsv", "--columns", "zh,en")
    result = prosector("train", here / "tiny.toml", *files, "--out", tmp_path / "out")
    assert result.code == 0
    assert "40 pairs to train on (0 left out as too long), 1 to choose on" in result.err


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("I like cats. 我喜欢猫。\n", "line 1"),
        ("I like cats.\t我喜欢猫。\n\n\t你好。\n", "line 3"),
        ("", "no sentence pair"),
        ("one\t一\n", "too few pairs: 0 to train on and 1 to choose on"),
        ("我喜欢猫。\tI like cats.\n", "what should be zh is en, and the other way round; name its columns"),
    ],
)
def test_a_broken_table_is_named_with_its_line(prosector, here, tmp_path, text, what):
    (tmp_path / "broken.tsv").write_text(text, "utf-8")
    result = prosector("train", here / "tiny.toml", "--data", tmp_path / "broken.tsv", "--out", tmp_path / "out")
    assert result.code == 2
    assert what in result.err.splitlines()[-1]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--data", "a.zh,b.en,c.en"], "SOURCE,TARGET"),
        (["--data", "a.zh,b.en"], "a.zh"),
        (["--columns", "en,fr"], "no zh"),
        (["--columns", "zh,en,en"], "each once"),
    ],
)
def test_data_that_cannot_be_meant_are_named(train, tmp_path, monkeypatch, options, what):
    monkeypatch.chdir(tmp_path)
    result = train(*options)
    assert result.code == 2
    assert what in result.err.splitlines()[-1]


def test_freed_memory_is_kept_for_the_next_step(train, model, monkeypatch):
    asked = []
    monkeypatch.setattr("prosector.training.memory.keep_freed_memory", lambda: asked.append(True))
    train(out=model)  # which is refused, as a model is there
    assert asked == [True]


def test_nothing_is_trained_over(train, model):
    result = train(out=model)
    assert result.code == 2
    assert "--resume" in result.err


def test_a_folder_that_cannot_be_made_is_named(train, tmp_path):
    (tmp_path / "file").touch()
    result = train(out="file/out")
    assert result.code == 2
    assert result.err.splitlines()[-1] == f"prosector train: {tmp_path / 'file/out/training'}: Not a directory"


def test_fine_tuning_takes_the_model_and_its_direction(prosector, here, model, tmp_path):
    """Though the recipe says the other one."""
    options = ("--from", model, "--set", "training.learning_rate=1e-6")
    other = tmp_path / "other.toml"
    other.write_text((here / "tiny.toml").read_text() + "\n", "utf-8")
    text = (
        other.read_text()
        .replace("[data]", '[data]\nsource = "en"\ntarget = "zh"')
        .replace("d_model = 32", "d_model = 64")
    )
    other.write_text(text, "utf-8")
    assert prosector("train", other, "--data", here / "pairs.tsv", "--out", tmp_path / "fine", *options).code == 0
    config = json.loads((tmp_path / "fine/config.json").read_text())
    assert (config["source"], config["target"], config["model"]["d_model"]) == ("zh", "en", 32)
    line = ("translate", "我喜欢猫。", "--model")
    assert prosector(*line, tmp_path / "fine").out == prosector(*line, model).out  # so small a rate changes no word


def test_what_the_model_brings_cannot_be_set(train, model):
    result = train("--from", model, "--set", "model.dropout=0.3", "--set", "model.d_model=64")
    assert result.code == 2
    assert "model.d_model: --from" in result.err


MINE = """
from prosector.positions import Position

class Parity(Position):
    def embed(self, x, positions):
        return x + (positions % 2)[..., None]
"""


def test_a_part_of_ones_own(train, prosector, tmp_path, monkeypatch):
    monkeypatch.setattr(position, "_registered", {})
    (tmp_path / "mine.py").write_text(MINE, "utf-8")
    setting = ("--set", "model.position=Parity")
    assert "Parity" in train(*setting).err  # nobody knows it yet
    monkeypatch.setattr(position, "_registered", {})
    result = train(*setting, "--part", tmp_path / "mine.py")
    assert result.code == 0
    assert f"--part {tmp_path / 'mine.py'}" in result.out

    monkeypatch.setattr(position, "_registered", {})
    translate = ("translate", "--model", tmp_path / "out", "我喜欢猫。")
    assert prosector(*translate).code == 2  # a model's folder runs no code
    assert prosector(*translate, "--part", tmp_path / "mine.py").code == 0


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("return x + (positions % 2)[..., None].nonsense", "mine.py, line 6: AttributeError: 'Tensor' object has no"),
        ("return x + self.table", "mine.py, line 6: AttributeError: 'Parity' object has no attribute 'table'"),
        ("return (positions % 2)[..., None]", "Parity.embed returns (3, 1); it must return (1, 3, 32)"),
        ("return x.view(7)", "mine.py, line 6: RuntimeError: shape '[7]' is invalid"),
    ],
)
def test_a_part_that_fails_is_named_with_its_line(train, tmp_path, monkeypatch, line, what):
    monkeypatch.setattr(position, "_registered", {})
    (tmp_path / "mine.py").write_text(MINE.replace("return x + (positions % 2)[..., None]", line), "utf-8")
    result = train("--set", "model.position=Parity", "--part", tmp_path / "mine.py")
    assert result.code == 2
    assert what in result.err.splitlines()[-1]


@pytest.mark.parametrize("kind", ["rnn", "rnn-attention"])
def test_the_architecture_is_one_field_of_a_recipe(prosector, here, tmp_path, kind):
    text = (here / "tiny.toml").read_text("utf-8")
    sizes = f'kind = "{kind}"\nd_model = 32\nd_hidden = 48\n'
    recipe = tmp_path / "recurrent.toml"
    recipe.write_text(text[: text.index("d_model")] + sizes + text[text.index("\n[tokenizer]") :], "utf-8")
    options = ("--data", here / "pairs.tsv", "--out", tmp_path / "out")
    assert prosector("train", recipe, *options, "--set", "training.steps=150").code == 0
    assert json.loads((tmp_path / "out/config.json").read_text())["kind"] == kind

    result = prosector("translate", "--model", tmp_path / "out", "我喜欢猫。", "我看见狗。")
    assert [line[:5] for line in result.out.splitlines()] == ["I lik", "I see"]
    result = prosector("train", recipe, *options, "--set", "model.n_heads=2")
    assert result.err.splitlines()[-1].endswith("model.n_heads is not a key that is known here")


# --- stopped, and resumed ------------------------------------------------------------------------------------------

LONGER = ("--set", "training.steps=200", "--set", "training.save_every=25", "--set", "training.validate_every=50")


class Undisturbed(NamedTuple):
    """What a run that nobody stopped ended with, and how long its steps took."""

    weights: str
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(here, tmp_path_factory):
    from prosector.cli.main import main

    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert main([*map(str, ("train", here / "tiny.toml", "--data", here / "pairs.tsv", "--out", out)), *LONGER]) == 0
    last = (out / "training/log.jsonl").read_text("utf-8").splitlines()[-1]
    return Undisturbed(weights(out), json.loads(last)["seconds"])


def begin(here, out, *options):
    return start("train", here / "tiny.toml", "--data", here / "pairs.tsv", "--out", out, *LONGER, *options)


def test_ctrl_c_saves_and_the_resumed_run_ends_the_same(prosector, here, tmp_path, undisturbed):
    out = tmp_path / "my run"
    with begin(here, out) as process:
        while "step     50/200" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        last = process.stderr.read().splitlines()[-1]
    assert last == f"prosector train: stopped and saved; to go on: prosector train --resume --out '{out}'"
    assert not (out / "model.safetensors").exists()

    result = prosector("train", "--resume", "--out", out)
    assert result.code == 0
    assert weights(out) == undisturbed.weights


@pytest.mark.slow
def test_killed_three_times_it_ends_the_same(prosector, here, tmp_path, undisturbed):
    out = tmp_path / "out"
    seed = random.randrange(10**6)
    print("the moments of the kills come from seed", seed)  # shown if the test fails
    for kill in range(3):  # each a sixth of the run or less after a line that is written every 50 of the 200 steps
        pause = random.Random(seed + kill).uniform(0, undisturbed.seconds / 6)
        with begin(here, out, *(["--resume"] if (out / "training/state.pt").exists() else [])) as process:
            while "step" not in process.stderr.readline():
                assert process.poll() is None
            time.sleep(pause)
            process.kill()
    assert prosector("train", "--resume", "--out", out).code == 0
    assert weights(out) == undisturbed.weights


def test_a_run_is_resumed_as_it_was_begun(train, prosector, here, tmp_path):
    """The same call again with --resume is well; other values are not."""
    begun = ("--set", "training.steps=20")
    assert train(*begun).code == 0
    first = weights(tmp_path / "out")
    assert train(*begun, "--resume").code == 0
    assert weights(tmp_path / "out") == first

    assert "training.steps" in train("--set", "training.steps=30", "--resume").err
    recipe = tmp_path / "changed.toml"
    recipe.write_text(RECIPE.replace("learning_rate = 5e-3", "learning_rate = 4e-3"), "utf-8")
    changed = prosector("train", recipe, "--resume", "--out", tmp_path / "out", "--data", here / "pairs.tsv", *begun)
    assert "begun with another training.learning_rate;" in changed.err
    assert prosector("train", "--resume", "--out", tmp_path / "out", *begun).code == 2


def test_a_run_is_not_resumed_on_other_sentences(train, prosector, here, tmp_path):
    shutil.copy(here / "pairs.tsv", tmp_path / "pairs.tsv")
    assert train("--data", tmp_path / "pairs.tsv", data=None).code == 0
    with (tmp_path / "pairs.tsv").open("a", encoding="utf-8") as file:
        file.write("I like horses.\t我喜欢马。\n")
    result = prosector("train", "--resume", "--out", tmp_path / "out")
    assert result.code == 2
    assert "data" in result.err.splitlines()[-1]
