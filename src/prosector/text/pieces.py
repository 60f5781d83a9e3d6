"""Words cut into pieces: unigram (Kudo 2018) and BPE (Sennrich et al. 2016), by SentencePiece.

Frequent words stay whole, rare ones fall into pieces, and what the vocabulary cannot spell falls
into the bytes of its UTF-8, `<0xE6>` and so on. So nothing is unknown, and decoding gives the text
back exactly: no character is folded, no space is dropped. SentencePiece writes a space as ▁.
"""

import io
import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Self

import sentencepiece

from prosector.text.special import EOS, N_SPECIAL, PAD, SOS, SPECIAL_PIECES, UNK
from prosector.text.tokenizer import Language, Tokenizer

_SPACE = "\u2581"  # ▁, which SentencePiece writes for a space

# Characters that every vocabulary holds, however rare the corpus has them: users will type them. Above
# all the space: were ▁ spelled in bytes, it could not be told from a ▁ in the text.
_ASCII = _SPACE + "".join(map(chr, range(0x21, 0x7F)))
_CHINESE_PUNCTUATION = "，。！？；：、（）「」『』“”‘’《》…—·"
_REQUIRED = {"en": _ASCII, "zh": _ASCII + _CHINESE_PUNCTUATION, None: _ASCII + _CHINESE_PUNCTUATION}
# SentencePiece passes over any sentence that holds one of its own signs, tab and ▅.
_NEVER_A_PIECE = "\t\n\r\0\u2585" + _SPACE
# The share of the corpus' characters that get a piece of their own; the rest become bytes.
_COVERAGE = {"en": 0.9999, "zh": 0.9995, None: 0.9997}


def train_pieces(
    sentences: Iterable[str],
    *,
    vocab_size: int,
    kind: Literal["unigram", "bpe"] = "unigram",
    language: Language | None = None,
    coverage: float | None = None,
) -> "PieceTokenizer":
    """Learn a vocabulary of pieces from sentences. The same sentences give the same bytes.

    In English, and where the language is not said, the first word gets a ▁ as every other does,
    so that *deep* is one piece wherever it stands; Chinese has no spaces and gets none. Digits
    stay single, so that a number is spelled the same way in both languages.

    Args:
        vocab_size: how many ids, the 4 special ones and the 256 bytes counted; a small corpus
            may give fewer.
        coverage: share of the text's characters that have a piece of their own; rarer ones are spelled
            in bytes. By default nearly all: 0.9995 in Chinese.

    Raises:
        ValueError: there is no text, or `vocab_size` does not hold the characters alone.
    """
    lines = list(sentences)
    alphabet = _alphabet(lines, language, coverage or _COVERAGE[language])
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=_spelled_with(alphabet, lines),
            model_writer=model,
            model_type=kind,
            vocab_size=vocab_size,
            hard_vocab_limit=False,
            character_coverage=1.0,  # of what is left, which is the alphabet
            split_digits=True,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=language != "zh",
            max_sentence_length=65536,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=SOS,
            eos_id=EOS,
            pad_piece=SPECIAL_PIECES[PAD],
            unk_piece=SPECIAL_PIECES[UNK],
            bos_piece=SPECIAL_PIECES[SOS],
            eos_piece=SPECIAL_PIECES[EOS],
            num_threads=4,  # fixed: sums of floats depend on how the work is shared out
            minloglevel=2,
        )
    except RuntimeError as error:
        needed = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            raise
        raise ValueError(
            f"vocab_size {vocab_size} is too small: the 4 special pieces, the 256 bytes and this text's "
            f"characters alone are {needed[1]}; give more than that, or spell rare characters in bytes (coverage)"
        ) from error
    return PieceTokenizer(model.getvalue())


def _alphabet(sentences: list[str], language: Language | None, coverage: float) -> set[str]:
    """The characters that get a piece of their own: the required ones, and the most frequent up to the coverage."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        _check_unicode(sentence)
        counts.update(sentence)
    for sign in _NEVER_A_PIECE:
        del counts[sign]
    if not counts:
        raise ValueError("there is no text to train a tokenizer on: every sentence is empty")

    wanted = coverage * counts.total()
    alphabet, covered = set(_REQUIRED[language]), 0
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= wanted:
            break
        alphabet.add(character)
        covered += count
    return (alphabet - {" "}) | {_SPACE}


def _spelled_with(alphabet: set[str], sentences: list[str]) -> Iterator[str]:
    """The sentences, cut where a character has no piece, and every character of the alphabet once more."""
    others = re.compile(f"[^{re.escape(''.join(sorted(alphabet)))} ]+")
    for sentence in sentences:
        yield from filter(None, others.split(sentence))
    yield from sorted(alphabet)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{text!r} holds half of a surrogate pair, which UTF-8 cannot write; read the text as UTF-8"
        ) from error


class PieceTokenizer(Tokenizer):
    """A trained SentencePiece model. Lossless for every text that UTF-8 can hold."""

    suffix = ".spm"

    def __init__(self, model: bytes) -> None:
        """
        Raises:
            ValueError: these bytes are no SentencePiece model, or its special ids are not ours.
        """
        self._model = model
        try:
            if not model:
                raise RuntimeError("nothing in it")
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        except RuntimeError as error:
            raise ValueError(f"not a SentencePiece model ({len(model)} bytes)") from error
        found = tuple(self._processor.id_to_piece(id) for id in range(min(N_SPECIAL, self.vocab_size)))
        if found != SPECIAL_PIECES:
            raise ValueError(f"ids 0 to 3 should be {' '.join(SPECIAL_PIECES)}, this model has {' '.join(found)}")

    @property
    def vocab_size(self) -> int:
        return self._processor.vocab_size()

    def __contains__(self, piece: str) -> bool:
        """Whether the vocabulary has this piece."""
        return self._processor.piece_to_id(piece) != UNK

    def encode(self, text: str) -> list[int]:
        writable, stand_in = self._without_space_mark(text)
        return self._with_space_mark(self._processor.encode(writable), stand_in)

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` of each text; SentencePiece takes them all at once, and shares them out among threads."""
        written = [self._without_space_mark(text) for text in texts]
        found = self._processor.encode([text for text, _ in written])
        return [self._with_space_mark(ids, stand_in) for ids, (_, stand_in) in zip(found, written, strict=True)]

    def decode(self, ids: Sequence[int]) -> str:
        self.check_ids(ids)
        return self._processor.decode([int(id) for id in ids if id >= N_SPECIAL])

    def piece(self, id: int) -> str:
        self.check_ids([id])
        return self._processor.id_to_piece(int(id))

    def sample(self, text: str, alpha: float, rng: random.Random, n_best: int = 64) -> list[int]:
        """One of the text's `n_best` likeliest segmentations, drawn with P ∝ P(segmentation)^alpha.

        Subword regularisation (Kudo 2018, section 3.2): a model trained on many ways to cut the
        same word learns what the pieces have in common. alpha 0 draws evenly, a large alpha
        gives `encode`. The draw is `rng`'s alone, so a seed gives the same ids again.

        Raises:
            ValueError: the model is BPE, which gives a segmentation no probability.
        """
        writable, stand_in = self._without_space_mark(text)
        try:
            candidates = self._processor.nbest_encode(writable, nbest_size=n_best)
        except RuntimeError as error:
            raise ValueError("sample needs a unigram tokenizer; BPE gives a segmentation no probability") from error
        # P(segmentation) is the product of its pieces' probabilities; the scores are their logarithms.
        scores = [alpha * sum(map(self._processor.get_score, ids)) for ids in candidates]
        best = max(scores)
        drawn = rng.choices(candidates, [math.exp(score - best) for score in scores])[0]
        return self._with_space_mark(drawn, stand_in)

    def to_bytes(self) -> bytes:
        return self._model

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        return cls(data)

    def _without_space_mark(self, text: str) -> tuple[str, str | None]:
        """A text that itself holds ▁ has it replaced, since SentencePiece would take it for a space.

        What stands in for it is a character that the vocabulary does not have, so that it comes
        out as its bytes.
        """
        _check_unicode(text)
        if _SPACE not in text:
            return text, None
        private_use = map(chr, range(0xF0000, 0xFFFFE))  # 65,534 characters without a meaning: one is always free
        free = (c for c in private_use if c not in text and c not in self)
        stand_in = next(free)
        return text.replace(_SPACE, stand_in), stand_in

    def _with_space_mark(self, ids: list[int], stand_in: str | None) -> list[int]:
        """The stand-in's bytes become those of ▁. UTF-8 characters never overlap: no other ids match."""
        if stand_in is None:
            return ids
        old, new = self._byte_ids(stand_in), self._byte_ids(_SPACE)
        result: list[int] = []
        for id in ids:
            result.append(id)
            if result[-len(old) :] == old:
                result[-len(old) :] = new
        return result

    def _byte_ids(self, character: str) -> list[int]:
        return [self._processor.piece_to_id(f"<0x{byte:02X}>") for byte in character.encode()]
