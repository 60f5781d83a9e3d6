"""Whole words: what people read most easily, and what a vocabulary can never hold all of.

Chinese is cut by jieba (rjieba) with a list of one's own words, everything else by a rule. A
word that follows a space keeps it as ▁, so decoding knows where the spaces were, and the first
word of a text gets one too, so that *deep* is one word wherever it stands; Chinese does not:

    I like it.       ->  ▁I ▁like ▁it .
    我喜欢深度学习。    ->  我 喜欢 深度学习 。
    用 PyTorch 写的   ->  用 ▁PyTorch ▁ 写 的      (before Chinese the space stands alone)

Decoding gives the text back exactly as long as no word is unknown. The sign ▁ itself always is.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from prosector.text.chinese import HAN
from prosector.text.vocabulary import VocabularyTokenizer, most_frequent

_SPACE = "\u2581"  # ▁
_LETTER = rf"[^\W\d_{HAN}]"
_WORD = rf"{_LETTER}(?:{_LETTER}|\d|['’-](?={_LETTER}))*"  # don't, state-of-the-art, U2
_NUMBER = r"\d+(?:[.,]\d+)*"  # 3.5, 10,000
_CHINESE_FIRST = re.compile(rf"[{HAN}\u3001-\u303f\uff00-\uffef]")  # ideographs, and signs such as 「 and （


def train_words(
    sentences: Iterable[str],
    *,
    vocab_size: int,
    min_count: int = 1,
    own_words: Sequence[str] = (),
) -> "WordTokenizer":
    """The most frequent words, at most `vocab_size` ids with the 4 special ones.

    Args:
        own_words: terms that stay whole, such as 深度学习 or U-Net. Chinese ones join jieba's
            dictionary, which still prefers a likelier cut: 度学 is no word within 深度学习.

    Raises:
        ValueError: there is no text, or no word is frequent enough; one of `own_words` is empty
            or holds a ▁.
    """
    splitter = WordTokenizer([], own_words=own_words)
    parts = (part for sentence in sentences for part in splitter.split(sentence) if part != splitter.UNKNOWABLE)
    words = most_frequent(parts, vocab_size=vocab_size, min_count=min_count)
    if not words:
        raise ValueError(f"there is no word to train a tokenizer on that occurs {min_count} times or more")
    return WordTokenizer(words, own_words=own_words)


class WordTokenizer(VocabularyTokenizer):
    """Words, numbers, and single signs; what the list does not have is `<unk>`."""

    kind = "words"
    UNKNOWABLE = "\N{REPLACEMENT CHARACTER}▁"  # what `split` gives for a ▁ in the text; in no vocabulary

    def __init__(self, vocabulary: Iterable[str], *, own_words: Sequence[str] = ()) -> None:
        super().__init__(vocabulary)
        self.own_words = tuple(own_words)
        for word in self.own_words:
            if not isinstance(word, str) or not word.strip() or _SPACE in word:
                raise ValueError(f"{word!r} cannot be one of own_words: a word has letters, and no ▁")
        own = self._own_pattern()
        self._token = re.compile(
            rf" ?(?P<other>{own}|{_WORD}|{_NUMBER}|[^\s{HAN}])"
            rf"|(?P<chinese>(?:(?!{own})[{HAN}])+)"  # jieba's, up to an own word such as 卡拉OK
            r"|\s"
        )

    def split(self, text: str) -> list[str]:
        if text and not _CHINESE_FIRST.match(text):
            text = " " + text
        parts = []
        for match in self._token.finditer(text):
            if match["chinese"]:
                parts.extend(self._jieba.cut(match["chinese"]))
            elif match["other"] == _SPACE:
                parts.append(self.UNKNOWABLE)
            else:
                parts.append(match[0].replace(" ", _SPACE))
        return parts

    def join(self, parts: Sequence[str]) -> str:
        return "".join(parts).replace(_SPACE, " ").removeprefix(" ")

    def settings(self) -> dict[str, Any]:
        return {"own_words": list(self.own_words)}

    def _own_pattern(self) -> str:
        """Own words that jieba does not see, the longest first; none matches within a longer word."""
        own = sorted((word for word in self.own_words if not _is_chinese(word)), key=len, reverse=True)
        if not own:
            return "(?!)"  # matches nowhere
        return "|".join(
            (rf"(?<!{_LETTER})" if re.match(_LETTER, word) else "")
            + re.escape(word)
            + (rf"(?!{_LETTER}|\d)" if re.match(rf"{_LETTER}|\d", word[-1]) else "")
            for word in own
        )

    @cached_property
    def _jieba(self) -> Any:
        import rjieba  # reads its dictionary: a tenth of a second

        jieba = rjieba.Jieba()
        for word in filter(_is_chinese, self.own_words):
            jieba.add_word(word, None, None)  # the frequency that it takes to keep the word whole
        return jieba


def _is_chinese(word: str) -> bool:
    return re.fullmatch(f"[{HAN}]+", word) is not None
