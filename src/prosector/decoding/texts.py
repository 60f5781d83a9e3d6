"""What every translator does, whatever runs its model: text in, text out.

Lines stay lines, and each sentence of a line is translated by itself, since models learn from pairs of
single sentences and drop half of what they read where there are more. A sentence that is longer than
what the model was trained on is cut by `splitting.py`. All pieces of all texts are sorted by length and
searched for in batches, and what was found goes back to its place. So nothing is dropped, and no text's
translation depends on the others.

No PyTorch is needed here: an engine's own `search` is what finds the targets.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Unpack, overload

from prosector.config.decoding import DecodingConfig, DecodingFields, decoding_from
from prosector.config.folder import TranslatorFolder
from prosector.config.model import n_positions
from prosector.config.special import SpecialIds
from prosector.data.cutting import cut
from prosector.decoding.candidate import Candidate, distinct, put_together
from prosector.decoding.from_folder import FromFolder
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.repetition import RepetitionGuard, wordiness_of
from prosector.decoding.rules import Rule, anything_goes
from prosector.decoding.splitting import split_lines, split_to_fit
from prosector.text import Tokenizer, split_sentences

BETWEEN_SENTENCES = {"en": " ", "zh": ""}


@dataclass
class Piece:
    """Part of a text that is translated at once: its source, and what stands after it in the translation."""

    text: str
    after: str
    candidates: list[Candidate]


class TextTranslator(FromFolder, ABC):
    """Texts to translations, by whatever `search` a subclass has.

    Attributes:
        config: what the model's folder says.
        source: the source's tokenizer.
        target: the target's.
        special: the ids that are no text.
    """

    config: TranslatorFolder
    source: Tokenizer
    target: Tokenizer
    special: SpecialIds

    @overload
    def translate(  # type: ignore[overload-overlap]  # a str is a sequence of str too; the first that fits counts
        self, texts: str, decoding: DecodingConfig | None = None, **fields: Unpack[DecodingFields]
    ) -> str: ...
    @overload
    def translate(
        self, texts: Sequence[str], decoding: DecodingConfig | None = None, **fields: Unpack[DecodingFields]
    ) -> list[str]: ...
    def translate(
        self, texts: str | Sequence[str], decoding: DecodingConfig | None = None, **fields: Unpack[DecodingFields]
    ) -> str | list[str]:
        """The translation of a text, or of each of several, in order.

        A blank text gives "", line breaks stay where they are, and what has no letter in it, such
        as a number, stays as it is. A sentence longer than those that the model was trained on is translated in pieces.

        Args:
            texts: one text, or several.
            decoding: how; a beam of 4 by default.
            **fields: fields of the config by name, such as `beam=1` or `temperature=0.8, seed=3`.

        Raises:
            ValueError: a text that UTF-8 cannot write, or an impossible field.
            TypeError: something that is no text.
        """
        found = [candidates[0].text for candidates in self.hypotheses(texts, decoding, **fields)]
        return found[0] if isinstance(texts, str) else found

    def hypotheses(
        self, texts: str | Sequence[str], decoding: DecodingConfig | None = None, **fields: Unpack[DecodingFields]
    ) -> list[list[Candidate]]:
        """The best translations of each text, the best first, all different: one or more, at most `n_best`.

        Arguments and errors as for `translate`.
        """
        how = decoding_from(decoding, fields)
        self.require(how)
        plans = [self.plan(text, how) for text in checked([texts] if isinstance(texts, str) else list(texts))]
        self.fill([piece for plan in plans for piece in plan if not piece.candidates], how)
        return [
            put_together([piece.candidates for piece in plan], [piece.after for piece in plan], how.n_best)
            for plan in plans
        ]

    def stream(
        self, text: str, decoding: DecodingConfig | None = None, **fields: Unpack[DecodingFields]
    ) -> Iterator[str]:
        """The translation of a text bit by bit, as it is found; put together it is that of `translate`.

        The native core gives words as soon as no other can come; other engines give sentence after sentence. Arguments
        and errors as for `translate`.
        """
        how = decoding_from(decoding, fields)
        self.require(how)
        for piece in self.plan(checked([text])[0], how):
            shown = ""
            for grown in [piece.candidates[0].text] if piece.candidates else self.growing(piece, how):
                if grown != shown:
                    yield grown[len(shown) :]
                shown = grown
            if piece.after:
                yield piece.after

    def growing(self, piece: Piece, decoding: DecodingConfig) -> Iterator[str]:
        """The translation of a piece while it is written, each text beginning with the one before it."""
        self.fill([piece], decoding)
        yield piece.candidates[0].text

    def require(self, decoding: DecodingConfig) -> None:
        """Raises ValueError if this engine cannot decode so."""
        if decoding.shortlist:
            raise ValueError(
                'shortlist: only the native core has one; use --engine native (in Python load(…, engine="native"))'
            )

    def plan(self, text: str, decoding: DecodingConfig) -> list[Piece]:
        """A text's pieces in order; one that stays as it is has its candidate already."""
        pieces = []
        for line, end in split_lines(text) if text.strip() else []:
            parts = self.parts(" ".join(line.split()), decoding)
            for number, part in enumerate(parts, start=1):
                after = BETWEEN_SENTENCES[self.config.target] if number < len(parts) else end
                stays = not any(map(str.isalpha, part))
                pieces.append(Piece(part.strip(), after, [Candidate(part.strip(), 0.0, True)] if stays else []))
        return pieces

    def parts(self, line: str, decoding: DecodingConfig) -> list[str]:
        """What of a line is translated at once; a blank line is one part."""
        sentences = split_sentences(line) if decoding.by_sentence else [line]
        return [part for sentence in sentences for part in split_to_fit(sentence, self.fits)] or [""]

    def fill(self, pieces: Sequence[Piece], decoding: DecodingConfig) -> None:
        """Find the candidates of every piece, in batches of like length."""
        ids = [self.ids(piece.text) for piece in pieces]
        lengths = list(map(len, ids))
        order = sorted(range(len(pieces)), key=lengths.__getitem__)
        for batch in cut(lengths, order, decoding.batch_tokens // decoding.size):
            texts = [pieces[i].text for i in batch]
            hypotheses = self.search(
                [ids[i] for i in batch],
                [self.longest_target(lengths[i], decoding) for i in batch],
                texts,
                RepetitionGuard(texts, self.wordiness) if decoding.repetition_guard else anything_goes,
                decoding,
            )
            for i, found in zip(batch, hypotheses, strict=True):
                pieces[i].candidates = distinct(
                    Candidate(self.target.decode(one.ids).strip(), one.score, one.finished) for one in found
                )

    @abstractmethod
    def search(
        self,
        sources: Sequence[Sequence[int]],
        longest: Sequence[int],
        texts: Sequence[str],
        rule: Rule,
        decoding: DecodingConfig,
    ) -> list[list[Hypothesis]]:
        """Each source's targets, the best first: `n_best` or fewer of a beam, one otherwise.

        Args:
            sources: their ids.
            longest: the longest target of each, in tokens.
            texts: what the sources say; a text's draws, if it is sampled, depend on it and the seed alone.
            rule: which tokens must not come next.
        """

    def ids(self, text: str) -> list[int]:
        """What the model reads."""
        return self.source.encode(text) + self.special.ends[:1] * self.config.source_eos

    def fits(self, text: str) -> bool:
        """Whether the model was trained on texts of this length."""
        return len(self.ids(text)) <= min(self.config.max_tokens, n_positions(self.config.model))

    def longest_target(self, source_length: int, decoding: DecodingConfig) -> int:
        """The longest translation of a source of this length, as asked for and as the positions allow."""
        wanted = 2 * source_length + 10 if decoding.max_length is None else decoding.max_length
        return min(wanted, n_positions(self.config.model) - 1)  # <sos> has a position too

    @cached_property
    def wordiness(self) -> list[int]:
        """What the repetition guard knows of the target's tokens."""
        return wordiness_of(self.target)


def checked(texts: list[str]) -> list[str]:
    """The texts, if all are text that can be written.

    Raises:
        TypeError: one is no text.
        ValueError: one holds half of a surrogate pair.
    """
    for number, text in enumerate(texts, start=1):
        if not isinstance(text, str):
            raise TypeError(f"text {number} is {text!r}, a {type(text).__name__}; give str")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"text {number} holds half of a surrogate pair ({text[error.start]!r} at character {error.start + 1}), "
                "which is no character; read the text as UTF-8"
            ) from error
    return texts
