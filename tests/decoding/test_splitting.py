"""Long text in pieces that fit: joined they are the text, and the cuts are where they hurt least."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prosector.decoding.splitting import halve, split_lines, split_to_fit


def at_most(n):
    return lambda text: len(text) <= n


@given(st.text() | st.text("aB1我.，, 。\n"), st.integers(1, 12))
def test_for_every_text_the_pieces_fit_and_joined_are_the_text(text, n):
    pieces = split_to_fit(text, at_most(n))
    assert "".join(pieces) == text
    assert all(len(piece) <= n for piece in pieces)


@given(st.text("a\r\n我 ") | st.text())
def test_for_every_text_lines_and_breaks_joined_are_the_text(text):
    lines = split_lines(text)
    assert "".join(line + end for line, end in lines) == text
    assert all(end in ("\n", "\r\n", "\r") for _, end in lines[:-1])
    assert lines[-1][1] == ""


def test_what_fits_stays_whole():
    assert split_to_fit("One. Two. Three.", at_most(16)) == ["One. Two. Three."]


@pytest.mark.parametrize(
    ("pieces", "longest"),
    [
        (["One two. ", "Three four. ", "Five."], 12),  # sentences, not packed together again
        (["Three hundred years ago, ", "before the war, ", "he left; ", "and nobody knew why."], 25),
        (["他三百年前走了，", "没有人知道；", "后来他回来了。"], 9),
        (["“你好，”", "他说。"], 5),
        (["一二三", "四》五六七"], 5),  # no piece begins with a closing sign
        (["一二三", "《四五六七"], 5),  # and none ends with an opening one
        (["the 1,000,000 ", "stars above"], 14),  # a number's commas are no place to cut
        (["一二三四", "五六七八"], 4),
        (["我用PyTorch", "写程序"], 9),  # no word is cut while there is another place
        (["aaaa", "aaaa"], 5),
    ],
)
def test_where_it_is_cut(pieces, longest):
    assert split_to_fit("".join(pieces), at_most(longest)) == pieces


def test_a_character_that_does_not_fit_is_a_piece():
    assert halve("ab", lambda text: False) == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["a" * 100_000, "a " * 50_000, "我" * 100_000, ",a" * 50_000, ", " * 50_000, "a，" * 50_000]
)
def test_no_text_takes_long(text):
    began = time.perf_counter()
    pieces = split_to_fit(text, at_most(50))
    assert "".join(pieces) == text
    assert time.perf_counter() - began < 10
