"""A race of tokenizers: one vocabulary, the same ids, characters a second."""

import json

import pytest

from prosector.bench import tokenising
from prosector.cli.main import main
from prosector.decoding import load
from prosector.text.pieces import train_pieces

ZH = ["我喜欢猫。", "今天天气很好，我们去公园吧！", "深度学习 is 有趣的 🐱", "  两个  空格 "]
EN = ["I like cats.", "The weather is nice today, isn't it?", "naïve café 🐱", "  two  spaces "]


@pytest.mark.parametrize("side", ["source", "target"])
@pytest.mark.parametrize("threads", [1, 2])
def test_everybody_gives_our_ids_with_spaces_bytes_and_emoji(side, threads):
    tokenizer = getattr(load("zh-en"), side)
    result = tokenising.run(side, tokenizer, ZH + EN, threads, 0.0)
    assert result.characters == sum(map(len, ZH + EN))
    assert set(result.same.values()) == {1.0}
    assert len(result.rates) == 4 if threads == 1 else 6
    assert result.left_out == {}


def test_who_has_no_such_model_is_left_out_and_why():
    tokenizer = train_pieces(EN * 20, vocab_size=400, kind="bpe", language="en")
    result = tokenising.run("bpe", tokenizer, EN, 1, 0.0)
    assert result.left_out.keys() == {"Hugging Face, 1 thread"}
    assert "only a unigram model" in result.left_out["Hugging Face, 1 thread"]
    assert result.rates.keys() == result.same.keys()


def test_a_contender_that_cuts_otherwise_is_seen(monkeypatch):
    monkeypatch.setattr(tokenising, "of_sentencepiece", lambda model, texts, threads: lambda: [[0]] * len(texts))
    result = tokenising.run("other", load("zh-en").target, EN, 1, 0.0)
    assert result.same["SentencePiece, 1 thread"] == 0.0
    assert result.same["Hugging Face, 1 thread"] == 1.0


def test_the_command_cuts_up_both_sides(tmp_path, capsys):
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{en}\t{zh}\n" for en, zh in zip(EN[:2], ZH, strict=False)), "utf-8")
    given = ["--data", str(table), "--seconds", "0.1", "--threads", "1", "--json", str(tmp_path / "all.json")]
    assert main(["bench", "--tokenising", "zh-en", *given]) == 0
    zh, en = json.loads((tmp_path / "all.json").read_text("utf-8"))["tokenising"]
    assert (zh["vocabulary"], en["vocabulary"]) == ("zh-en, zh", "zh-en, en")
    assert (zh["characters"], en["characters"]) == (sum(map(len, ZH[:2])), sum(map(len, EN[:2])))
    assert f"zh-en, en, 2 sentences: ours is {en['ratio']:.2f} ×" in capsys.readouterr().out
