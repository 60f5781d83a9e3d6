"""Words: cut as people read them, joined as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.corpus import CHINESE, ENGLISH, HARD

from prosector.text.special import UNK
from prosector.text.words import WordTokenizer, train_words


def split(text, *own_words):
    return WordTokenizer([], own_words=own_words).split(text)


def test_a_word_of_ones_own_stays_whole():
    assert split("我喜欢深度学习。") == ["我", "喜欢", "深度", "学习", "。"]
    assert "度学" not in split("我喜欢深度学习。", "度学")  # the sentence decides
    assert split("我喜欢深度学习。", "深度学习") == ["我", "喜欢", "深度学习", "。"]


def test_own_words_need_not_be_chinese_nor_one_word():
    own = ("U-Net", "C++", "卡拉OK", "T恤", "New York")
    assert split("U-Net C++ and New York", *own) == ["▁U-Net", "▁C++", "▁and", "▁New▁York"]
    assert split("我穿T恤唱卡拉OK", *own) == ["我", "穿", "T恤", "唱", "卡拉OK"]
    assert split("C++x U-Nets", *own) == ["▁C++", "x", "▁U-Nets"]  # not within a longer word


def test_english_words_numbers_and_signs():
    assert split('"It\'s 3.5 km," he said; don’t.') == [
        '▁"', "It's", "▁3.5", "▁km", ",", '"', "▁he", "▁said", ";", "▁don’t", ".",
    ]  # fmt: skip


def test_chinese_punctuation_is_untouched_and_spaces_go_where_they_were():
    assert split("他说：「好！」") == ["他", "说", "：", "「", "好", "！", "」"]
    assert split("用 PyTorch 写的") == ["用", "▁PyTorch", "▁", "写", "的"]


def test_the_first_word_is_the_same_as_within():
    assert split("deep") == ["▁deep"]
    assert split(" deep  deep") == ["▁", "▁deep", "▁", "▁deep"]
    assert split("") == []


@given(st.text() | st.text(alphabet="a1我们，。「 -'\n　\t😀") | st.sampled_from(HARD))
def test_for_every_text_whose_words_are_known_decoding_gives_it_back(text):
    text = text.replace("▁", "")
    words = WordTokenizer(dict.fromkeys(split(text, "我们", "a-1")), own_words=["我们", "a-1"])
    ids = words.encode(text)
    assert UNK not in ids
    assert words.decode(ids) == text


def test_the_most_frequent_words_are_kept_and_ties_stand_in_alphabetical_order():
    words = train_words(["b b b a c c d", "d"], vocab_size=4 + 3)
    assert [words.piece(id) for id in range(4, words.vocab_size)] == ["▁b", "▁c", "▁d"]
    assert words.pieces("a b") == ["<unk>", "▁b"]
    assert words.decode(words.encode("b a c")) == "b c"  # what is unknown has no text
    assert train_words(["b b a"], vocab_size=100, min_count=2).vocab_size == 4 + 1


def test_the_space_mark_itself_is_unknown():
    words = train_words(["a ▁ b ▁", "▁"], vocab_size=100)
    assert words.pieces("a ▁ b") == ["▁a", "<unk>", "▁b"]


def test_saved_words_keep_their_own_words(tmp_path):
    words = train_words(ENGLISH + CHINESE, vocab_size=300, own_words=["深度学习"])
    path = words.save(tmp_path, "joint")
    assert path.name == "joint.vocab.json"
    again = WordTokenizer.load(path)
    assert again.encode_batch(HARD) == words.encode_batch(HARD)
    assert "深度学习" in again.pieces("我喜欢深度学习。")
    assert again.to_bytes() == words.to_bytes()


def test_mistakes_are_told(tmp_path):
    with pytest.raises(ValueError, match=r"no word .* 5 times or more"):
        train_words(["a b"], vocab_size=100, min_count=5)
    with pytest.raises(ValueError, match="'▁x' cannot be one of own_words"):
        WordTokenizer([], own_words=["▁x"])
    with pytest.raises(ValueError, match="names 'a' twice"):
        WordTokenizer(["a", "b", "a"])
    for written, fault in {
        "{": "not a vocabulary",
        "[]": "not a vocabulary",
        '{"kind": "characters", "vocabulary": []}': "'characters', where 'words' was wanted",
        '{"kind": "words", "vocabulary": ["a"]}': "begins with <pad> <unk> <sos> <eos>",
        '{"kind": "words", "vocabulary": 3}': "list of strings",
        '{"kind": "words", "vocabulary": ["<pad>", "<unk>", "<sos>", "<eos>"], "colour": 1}': "colour",
        '{"kind": "words", "vocabulary": ["<pad>", "<unk>", "<sos>", "<eos>"], "own_words": [1]}': "own_words",
    }.items():
        path = tmp_path / "source.vocab.json"
        path.write_text(written, encoding="utf-8")
        with pytest.raises(ValueError, match=f"source.vocab.json.*{fault}"):
            WordTokenizer.load(path)
