"""Sentences: cut at their ends, and joined again the same text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.corpus import CHINESE, ENGLISH, HARD

from prosector.text.sentences import split_sentences


@given(st.text() | st.text(alphabet="aB1我.。！?!…\"'”」）) \n") | st.sampled_from(HARD))
def test_for_every_text_the_sentences_joined_are_the_text(text):
    sentences = split_sentences(text)
    assert "".join(sentences) == text
    assert all(sentences)
    assert not text.strip() or all(sentence.strip() for sentence in sentences[:-1])


@given(st.lists(st.sampled_from(ENGLISH), max_size=6), st.lists(st.sampled_from(CHINESE), max_size=6))
def test_for_every_list_of_sentences_the_same_sentences_come_out(english, chinese):
    english = [sentence + " " for sentence in english]
    assert split_sentences("".join(english + chinese)) == english + chinese


@pytest.mark.parametrize(
    "sentences",
    [
        # Closing quotes and brackets stay with what they close.
        ["他说：「好！」", "（真的吗？）", "他走了。"],
        ['"Yes!" ', "He said 'go.' ", "Then (he left.) ", "Fine."],
        ["“走吧。”", "他说。"],
        # A straight quote closes what was opened, and opens otherwise.
        ["他走了。", '"为什么？"', "她问。"],
        ['他说："我来。', '我走。"', "然后他走了。"],
        # ASCII marks between Chinese characters.
        ["真的吗?", "我不信!", "走。"],
        # Line ends.
        ["A title\n\n", "Some text.\n", "  More text"],
    ],
)
def test_where_sentences_end(sentences):
    assert split_sentences("".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentence",
    [
        "Mr. Smith met Dr. J. Jones in the U.S. Army.",
        "Fruits, e.g. Apples, i.e. Pommes, etc. are good.",
        "It is 3.5 km, version 2.0.1 of www.example.com.",
        "See No. 5 and Fig. 3, p. 12.",
        "Well... I do not know … Perhaps.",
        "他走了……她哭了。",
        '"Why?" he asked, "why now?" and left.',
        "1. Open the door.",
        "我在U.S.的朋友",
        "第一；第二，第三：都好",
    ],
)
def test_where_a_sentence_goes_on(sentence):
    assert split_sentences(sentence) == [sentence]


def test_a_word_that_is_an_abbreviation_only_before_numbers_ends_a_sentence():
    assert split_sentences("No. I will not. It is I. Go.") == ["No. ", "I will not. ", "It is I. ", "Go."]
    assert split_sentences("Really...? Yes.") == ["Really...? ", "Yes."]


@pytest.mark.parametrize("text", ["a" * 50_000 + ".", " " * 50_000, '."' * 50_000, "." * 50_000, "a. " * 50_000])
def test_no_text_takes_long(text):
    began = time.perf_counter()
    split_sentences(text)
    assert time.perf_counter() - began < 5
