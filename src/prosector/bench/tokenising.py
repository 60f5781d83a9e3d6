"""Who cuts sentences up fastest? Our tokenizer, SentencePiece itself, and Hugging Face's tokenizers: one vocabulary.

Ours is SentencePiece with rules around it that keep every text whole; so the first question is what they cost. Ids are
compared before the clock starts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from prosector.bench.rounds import Rate, race
from prosector.interop.engines.needed import needed
from prosector.text.pieces import PieceTokenizer

OURS = "prosector"
UNIGRAM = 1  # SentencePiece's number for that kind of model
Encode = Callable[[], list[list[int]]]


class Result(NamedTuple):
    """A contest.

    Attributes:
        vocabulary: whose sentences, and in what language.
        n: how many sentences.
        characters: in all of them.
        rates: characters a second.
        same: the share of sentences whose ids are ours.
        left_out: who has no such model, and why.
    """

    vocabulary: str
    n: int
    characters: int
    rates: dict[str, Rate]
    same: dict[str, float]
    left_out: dict[str, str]

    @property
    def ratio(self) -> float:
        """Ours over the best of the others'."""
        return self.rates[OURS].median / max(rate.median for name, rate in self.rates.items() if name != OURS)

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        rates = {name: rate._asdict() for name, rate in self.rates.items()}
        return self._asdict() | {"rates": rates, "ratio": self.ratio}


def of_sentencepiece(model: bytes, texts: list[str], threads: int) -> Encode:
    """All sentences in one call; none, one after the other."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    if not threads:
        return lambda: [processor.encode(text) for text in texts]
    return lambda: processor.encode(texts, num_threads=threads)


def of_hugging_face(model: bytes, texts: list[str], threads: int) -> Encode:
    """Hugging Face's tokenizers, with the pieces and scores of a model of SentencePiece.

    Raises:
        ImportError: tokenizers is not installed.
        ValueError: the model is not unigram.
    """
    library = needed("tokenizers")
    protocol: Any = sentencepiece_model_pb2
    spec = protocol.ModelProto.FromString(model)
    if spec.trainer_spec.model_type != UNIGRAM:
        raise ValueError("only a unigram model is written in Hugging Face's words here")
    pieces = [(piece.piece, piece.score) for piece in spec.pieces]
    theirs = library.Tokenizer(library.models.Unigram(pieces, spec.trainer_spec.unk_id, byte_fallback=True))
    spaces = [library.normalizers.Replace(" ", "▁")]
    if spec.normalizer_spec.add_dummy_prefix:
        spaces.insert(0, library.normalizers.Prepend("▁"))
    theirs.normalizer = library.normalizers.Sequence(spaces)
    if threads > 1:
        os.environ.setdefault("RAYON_NUM_THREADS", str(threads))  # read once, at its first parallel call

    def encode() -> list[list[int]]:
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
        return [found.ids for found in theirs.encode_batch_fast(texts, add_special_tokens=False)]

    return encode


def contenders(tokenizer: PieceTokenizer, texts: list[str], threads: int) -> dict[str, Callable[[], Encode]]:
    """Everybody at every setting that may be its best, as what makes them."""
    model = tokenizer.to_bytes()
    found: dict[str, Callable[[], Encode]] = {OURS: lambda: lambda: tokenizer.encode_batch(texts)}
    found["SentencePiece, one by one"] = partial(of_sentencepiece, model, texts, 0)
    for n in sorted({1, threads}):
        name = "1 thread" if n == 1 else f"{n} threads"
        found[f"SentencePiece, {name}"] = partial(of_sentencepiece, model, texts, n)
        found[f"Hugging Face, {name}"] = partial(of_hugging_face, model, texts, n)
    return found


def run(vocabulary: str, tokenizer: PieceTokenizer, texts: Sequence[str], threads: int, seconds: float) -> Result:
    """Let them all cut up the same sentences, in turns.

    Args:
        vocabulary: how it is called.
        tokenizer: ours.
        texts: sentences.
        threads: that all may use together.
        seconds: how long the turns may take.
    """
    given = list(texts)
    characters = sum(map(len, given))
    working: dict[str, Encode] = {}
    left_out: dict[str, str] = {}
    for name, make in contenders(tokenizer, given, threads).items():
        try:
            working[name] = make()
        except (ValueError, ImportError) as error:
            left_out[name] = str(error)
    found = {name: encode() for name, encode in working.items()}
    same = {name: sum(map(list.__eq__, ids, found[OURS])) / len(given) for name, ids in found.items()}
    rates = race({name: counting(encode, characters) for name, encode in working.items()}, seconds)
    return Result(vocabulary, len(given), characters, rates, same, left_out)


def counting(encode: Encode, characters: int) -> Callable[[], float]:
    """How many characters it read."""

    def work() -> float:
        encode()
        return float(characters)

    return work
