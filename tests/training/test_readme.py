"""A model's README says what somebody needs to repeat it."""

import hashlib

from prosector.config.run import RunConfig
from prosector.training.readme import About, Story, files_of, model_readme, named
from prosector.training.task import Validation

ABOUT = About("Chinese to English", "A Transformer", "Tables.")
VALIDATION = Validation(
    1.5, {"chrF": 49.75, "BLEU": 31.25}, [], ("chrF `nrefs:1|nc:6`", "BLEU `nrefs:1|tok:13a`"), 49.75
)


def test_it_names_every_file_with_its_licence_and_digest(tmp_path):
    table, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    table.write_text("Hello.\t你好。\n", "utf-8")
    dev.write_text("Bye.\t再见。\n", "utf-8")
    files = {
        "train": [{"path": str(table), "weight": 0.3, "origin": "two words", "licence": "CC0"}],
        "dev": [{"path": str(dev)}],
    }
    run = RunConfig.model_validate({"description": "Everyday words.", "data": files})
    story = Story(
        600, 1_450_000, "target tokens", "bf16", 1800.0, command="prosector train zh-en --set training.steps=600"
    )
    results = {"last": VALIDATION, "average": VALIDATION}
    text = model_readme(run, ABOUT._replace(data=files_of(run.data.train, run.data.dev)), "last", results, story)
    digest = hashlib.sha256(table.read_bytes()).hexdigest()
    assert f"| `train.tsv` | 0.3 × | two words | CC0 | `{digest}` |" in text
    assert f"`{hashlib.sha256(dev.read_bytes()).hexdigest()}`" in text
    assert str(tmp_path) not in text  # nobody's folders
    for said in (
        "# Chinese to English", "Everyday words.", "600 steps on 1,450,000 target tokens, seed 1",
        "products in bf16; 0.50 hours",
        "```\nprosector train zh-en --set training.steps=600\n```",
        "| weights | development loss | chrF | BLEU |", "| last (kept) | 1.500 | 49.75 | 31.25 |",
        "chrF `nrefs:1|nc:6`. BLEU `nrefs:1|tok:13a`",
    ):  # fmt: skip
        assert said in text


def test_a_fine_tuned_model_says_what_it_began_as():
    story = Story(30, 1000, "target tokens", "float32", 60.0, began_as="zh-en")
    assert "It began as zh-en, and was trained further for 30 steps" in model_readme(
        RunConfig(), ABOUT, "best", {"best": VALIDATION}, story
    )


def test_a_relative_path_stays_and_of_a_whole_one_the_name():
    assert named("zh-en/tatoeba.tsv.xz") == "zh-en/tatoeba.tsv.xz"
    assert named("/data/mine/pairs.tsv") == "pairs.tsv"
