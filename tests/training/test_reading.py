"""Learning to read, and then to tell texts apart: gaps, pairs, labels."""

import hashlib

import pytest
from tests.training.sentences import PAIRS, write_table
from tests.training.test_run import Recorder, train_until

import prosector
from prosector.config.run import run_from
from prosector.decoding.reader import MASK
from prosector.training.labelling import read_labelled
from prosector.training.run import train

SIZES = {"kind": "bert", "d_model": 48, "n_heads": 4, "d_ff": 96, "layers": 2, "dropout": 0.0}
TRAINING = {"steps": 24, "warmup": 4, "save_every": 4, "validate_every": 8, "learning_rate": 3e-3, "label_smoothing": 0}


@pytest.fixture
def reading(tmp_path):
    table = write_table(tmp_path / "pairs.tsv", PAIRS)

    def make(**training):
        tree = {
            "model": SIZES,
            "tokenizer": {"vocab_size": 480},
            "data": {"train": [{"path": str(table)}], "max_tokens": 40, "batch_tokens": 800},
            "training": TRAINING | training,
        }
        return run_from(tree, (), "here")

    return make


def digest(folder):
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def test_it_learns_to_fill_gaps_from_both_sides(reading, tmp_path):
    recorder = Recorder()
    outcome = train(reading(steps=400, validate_every=200), tmp_path / "out", recorder)
    assert outcome.validation.loss < 0.5 * recorder.losses[1]
    assert outcome.validation.scores["gaps"] > 40
    reader = prosector.load(tmp_path / "out")
    [gap] = reader.fill(f"they like {MASK} cat.", top=3)
    assert gap.guesses[0].name == "the"
    assert 1 >= gap.guesses[0].probability > gap.guesses[1].probability > gap.guesses[2].probability > 0
    assert reader.filled(f"they like {MASK} cat.") == "they like the cat."
    assert "# A reader" in (tmp_path / "out/README.md").read_text("utf-8")


def test_stopped_and_resumed_it_ends_with_the_same_bits(reading, tmp_path):
    train(reading(), tmp_path / "whole", Recorder())
    train_until(11, reading(), tmp_path / "parts")
    train(reading(), tmp_path / "parts", Recorder(), resume=True)
    assert digest(tmp_path / "whole") == digest(tmp_path / "parts")


def test_gaps_are_single_tokens_with_the_space_before_them(reading, tmp_path):
    train(reading(steps=2, warmup=1), tmp_path / "out", Recorder())
    reader = prosector.load(tmp_path / "out")
    whole = reader.ids("they like the cat.")
    gap = reader.ids(f"they like {MASK} cat.")
    place = gap.index(reader.model.mask_id)
    assert gap[:place] == whole[:place]
    assert gap[place + 1 :] == whole[place + 1 :]
    assert reader.ids(f"{MASK}喜欢{MASK}").count(reader.model.mask_id) == 2
    with pytest.raises(ValueError, match=r"there is no \[MASK\] in 'cats'"):
        reader.fill("cats")
    with pytest.raises(ValueError, match="the model reads 40 at most"):
        reader.fill("cats and dogs " * 20 + MASK)
    with pytest.raises(ValueError, match="has learned no labels"):
        reader.classify(["cats"])


@pytest.fixture
def labelling(tmp_path):
    for name, side in (("english", 1), ("chinese", 0)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{pair[side]}\n" for pair in PAIRS), "utf-8")

    def make(**training):
        labels = {name: {"path": str(tmp_path / f"{name}.txt")} for name in ("english", "chinese")}
        tree = {
            "model": SIZES,
            "tokenizer": {"vocab_size": 480},
            "data": {"labels": labels, "each": 8, "dev": 10, "test": 20, "max_tokens": 40, "batch": 8},
            "training": TRAINING | training,
        }
        return run_from(tree, (), "here")

    return make


def test_labels_are_learned_afresh_and_from_a_reader(reading, labelling, tmp_path):
    train(reading(steps=60, validate_every=60), tmp_path / "reader", Recorder())
    for name, start in (("afresh", None), ("tuned", tmp_path / "reader")):
        outcome = train(labelling(), tmp_path / name, Recorder(), start_from=start)
        assert outcome.validation.scores["accuracy"] > 80
        found = prosector.load(tmp_path / name).classify(["I like the cat.", "我喜欢猫。"])
        assert [best[0].name for best in found] == ["english", "chinese"]
        assert sum(guess.probability for guess in found[0]) == pytest.approx(1)


def test_parts_share_no_line_and_the_test_stays(labelling):
    parts = read_labelled(labelling().data)
    texts = [text for part in parts for text in part.texts]
    assert len(set(texts)) == len(texts) == 2 * (8 + 10 + 20)
    assert [part.labels.count(1) for part in parts] == [8, 10, 20]
    fewer = read_labelled(labelling().data.model_copy(update={"each": 3, "dev": 2}))
    assert fewer.test.texts == parts.test.texts
    with pytest.raises(ValueError, match=r"english has 64 different lines, and 80 are wanted; lower data\.each"):
        read_labelled(labelling().data.model_copy(update={"each": 50}))
