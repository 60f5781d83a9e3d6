"""Which script a text has, and one way to write Chinese."""

import sys

import pytest
from tests.text.corpus import CHINESE, ENGLISH

from prosector.text import chinese
from prosector.text.chinese import script_of, simplify


def test_each_language_is_told_by_its_script():
    assert {script_of(text) for text in CHINESE} == {"zh"}
    assert {script_of(text) for text in ENGLISH} == {"en"}


@pytest.mark.parametrize(
    "text, script",
    [
        ("我用 Python 写程序", "zh"),
        ("我喜欢 TensorFlow 和 PyTorch", "zh"),
        ("The word 你好 means hello", "en"),
        ("𠮷野家", "zh"),
        ("（！）", "zh"),
        ("3.5", "en"),
        ("", "en"),
    ],
)
def test_mixed_and_wordless_texts(text, script):
    assert script_of(text) == script


def test_traditional_becomes_simplified_by_words_and_punctuation_stays():
    assert simplify("我喜歡深度學習。") == "我喜欢深度学习。"
    assert simplify("乾燥的頭髮，乾隆皇帝") == "干燥的头发，乾隆皇帝"
    assert simplify("他說：「好！」（真的嗎？）ABC") == "他说：「好！」（真的吗？）ABC"


def test_simplified_stays():
    assert [simplify(text) for text in CHINESE] == CHINESE


def test_without_opencc_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "opencc", None)
    chinese._opencc.cache_clear()
    with pytest.raises(ImportError, match=r"pip install 'prosector\[formats\]'"):
        simplify("學")
