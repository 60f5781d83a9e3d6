"""The graded sentences: cleaned, and split without overlap, alike for everybody."""

import importlib.resources

import pytest

from prosector.data import hsk
from prosector.data.corpus import read_table
from prosector.data.hsk import Graded, clean, essence, read_hsk, split, write_tsv


def test_placeholders_and_repetitions_go():
    cat = Graded("I like cats.", "我喜欢猫。", 1)
    rows = [
        Graded("placeholder-p3", "房间里没有人。", 3),
        Graded("PH", "新闻联播。", 6),
        cat,
        Graded("I love cats.", "我喜欢猫！", 2),
        Graded("", "无", 1),
        Graded("Photos are taken here.", "这里可以拍照。", 4),
    ]
    assert clean(rows) == [cat, rows[-1]]


def test_two_sentences_are_one_if_their_letters_are():
    assert essence("It's 5 o'clock!") == essence("its 5 oclock") == "its5oclock"
    assert essence("你好，老师！") == "你好老师"


def test_no_part_shares_a_sentence_with_another():
    """Twenty sentences of which each is written twice in English: the twin of a drawn one is dropped."""
    twins = [Graded(f"English {i // 2}", f"中文{i}", 1) for i in range(40)]
    parts = split(twins, dev=5, test=5)
    sides = [{essence(side) for s in part for side in s[:2]} for part in parts]
    assert not sides[0] & sides[1] | sides[0] & sides[2] | sides[1] & sides[2]
    assert len(parts.dev) == len(parts.test) == 5
    assert parts == split(twins[::-1], dev=5, test=5)


def test_the_package_has_what_the_demo_says():
    parts = split(read_hsk())
    assert [len(part) for part in parts] == [3860, 200, 200]
    assert parts.test[0] == Graded("He agreed on the spot.", "他当场答应了。", 5)
    assert {sentence.level for sentence in parts.train} == {1, 2, 3, 4, 5, 6}
    assert not any("placeholder" in sentence.english for part in parts for sentence in part)


def test_what_is_written_is_read_again(tmp_path):
    write_tsv(tmp_path / "a.tsv", [Graded("I like cats.", "我喜欢猫。", 1)])
    assert list(read_table(tmp_path / "a.tsv", ("en", "zh"), "zh", "en")) == [("我喜欢猫。", "I like cats.")]


def test_without_the_package_one_is_told_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib.resources, "files", missing)
    with pytest.raises(ImportError, match=r"pip install 'prosector\[demo\]'"):
        hsk.read_hsk()
