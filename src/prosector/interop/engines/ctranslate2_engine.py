"""A translator that CTranslate2 runs: our tokenizers, sentences and batches around its search.

Its greedy search is ours. Its beam keeps k hypotheses running besides those that are finished, as
`decoding/refilling.py` does, and ends when k · patience are finished; ours ends when none can still win. With a
patience of 2 it goes on long enough to find what ours finds, nearly always (results/engines.md counts).

It knows no rule for what may come next. So where our repetition guard objects to a hypothesis, the offending
continuation is forbidden and the source is searched again, until none offends: greedily that is the same as our guard.

What is forbidden it takes out before the softmax, which makes the rest likelier, and we after it. So what is found
under the guard is scored once more with nothing forbidden. Of `<pad>`, `<unk>` and `<sos>`, which nobody writes, it is
let be: translators hardly give them anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.decoding.beam import best
from prosector.decoding.folder_config import read_as, read_tokenizers
from prosector.decoding.hypothesis import Hypothesis, hypothesis
from prosector.decoding.native import n_rows
from prosector.decoding.rules import Rule
from prosector.decoding.translator import Translator
from prosector.interop.engines.ctranslate2_spec import pieces_of
from prosector.interop.engines.needed import needed
from prosector.text import Tokenizer

INSIDE = "ctranslate2"  # their files, within the folder: their config.json is another one than ours
PATIENCE = 2.0
ROUNDS = 100  # of forbidding what the guard objects to

Forbidden = Callable[[Sequence[int]], Collection[int]]  # what must not follow the beginning of a target


class CTranslate2Model:
    """Their translator, with our config.

    Args:
        folder: that of their files.

    Raises:
        ImportError: ctranslate2 is not installed.
        FileNotFoundError: there is no such folder.
    """

    def __init__(self, folder: Path, config: Any) -> None:
        library = needed("ctranslate2")
        if not (folder / "model.bin").is_file():
            raise FileNotFoundError(
                f"{folder.parent} has no {INSIDE}/model.bin; prosector export --to ctranslate2 writes one"
            )
        self.config = config
        try:
            self.theirs = library.Translator(str(folder), intra_threads=torch.get_num_threads())
        except RuntimeError as error:
            raise ValueError(f"{folder}: {error}") from error


def read_ctranslate2(folder: Path) -> tuple[TranslatorFolder, CTranslate2Model, Tokenizer, Tokenizer]:
    """What `export_ctranslate2` wrote.

    Raises:
        ImportError: ctranslate2 is not installed.
        FileNotFoundError, ValueError: it is no such folder, or damaged.
    """
    config = read_as(folder, TranslatorFolder, "translate")
    return config, CTranslate2Model(folder / INSIDE, config.model), *read_tokenizers(folder, config)


class CTranslate2Translator(Translator):
    """A `Translator` whose targets CTranslate2 finds."""

    read_folder = staticmethod(read_ctranslate2)

    def __init__(self, config: TranslatorFolder, model: Any, source: Tokenizer, target: Tokenizer) -> None:
        super().__init__(config, model, source, target)
        vocabularies: Any = config.model
        self.source_pieces = pieces_of(source, vocabularies.source_vocab)
        self.target_pieces = pieces_of(target, vocabularies.target_vocab)
        self.ids_of = {piece: id for id, piece in enumerate(self.target_pieces)}

    def longest_target(self, source_length: int, decoding: DecodingConfig) -> int:
        """As our own, and no longer than the table of positions that was written."""
        return min(super().longest_target(source_length, decoding), n_rows(self.config) - 1)

    def search(
        self,
        sources: Sequence[Sequence[int]],
        longest: Sequence[int],
        texts: Sequence[str],
        rule: Rule,
        decoding: DecodingConfig,
    ) -> list[list[Hypothesis]]:
        """Each source's targets, as their search finds them.

        Raises:
            ValueError: it is to draw by chance.
        """
        if decoding.method == "sampling":
            raise ValueError(
                "CTranslate2 draws other words than we do; leave out temperature, top_k, top_p and seed, or another "
                "engine than ctranslate2"
            )
        found: dict[int, list[Hypothesis]] = {}
        for most in sorted(set(longest)):  # they know one longest length a call
            rows = [row for row, its in enumerate(longest) if its == most]
            found |= zip(rows, self.found([sources[row] for row in rows], most, decoding), strict=True)
        return [
            self.guarded(found[row], sources[row], longest[row], partial(rule, row), decoding)
            for row in range(len(sources))
        ]

    def guarded(
        self,
        found: list[Hypothesis],
        source: Sequence[int],
        most: int,
        forbidden: Forbidden,
        decoding: DecodingConfig,
    ) -> list[Hypothesis]:
        """The targets of one source once none has what is forbidden, or after so many rounds."""
        never: list[list[int]] = []
        for _ in range(ROUNDS):
            offences = list(filter(None, (first_offence(one.ids, forbidden) for one in found)))
            if not offences:
                break
            never += offences
            [found] = self.found([source], most, decoding, never)
        return found

    def found(
        self,
        sources: Sequence[Sequence[int]],
        most: int,
        decoding: DecodingConfig,
        never: Sequence[Sequence[int]] = (),
    ) -> list[list[Hypothesis]]:
        """What their search finds for some sources, with `most` tokens at most and nothing of `never` in it."""
        forbidden = [*([id] for id in self.special.unwritten), *never]
        engine: Any = self.model
        results = engine.theirs.translate_batch(
            [[self.source_pieces[id] for id in source] for source in sources],
            beam_size=decoding.size,
            num_hypotheses=decoding.size,
            patience=PATIENCE if decoding.size > 1 else 1.0,
            length_penalty=decoding.alpha,
            suppress_sequences=[[self.target_pieces[id] for id in ids] for ids in forbidden] or None,
            end_token=[self.target_pieces[id] for id in self.special.ends],
            return_end_token=True,  # it tells what is finished from what is cut
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=most + 1,  # the end counts there
            return_scores=True,
        )
        found = [
            [self.hypothesis(*one, most, decoding.alpha) for one in zip(result.hypotheses, result.scores, strict=True)]
            for result in results
        ]
        if never:
            found = [self.scored(source, some, decoding.alpha) for source, some in zip(sources, found, strict=True)]
        # As in our beam, what was cut counts only if nothing is finished.
        return [best([one for one in some if one.finished] or some, decoding.n_best) for some in found]

    def hypothesis(self, pieces: Sequence[str], score: float, most: int, alpha: float) -> Hypothesis:
        """One of theirs as one of ours; it is cut if it came without an end."""
        ids = [self.ids_of[piece] for piece in pieces]
        finished = bool(ids) and ids[-1] in self.special.ends
        log_p = score * max(len(ids), 1) ** alpha
        return Hypothesis(ids[:-1] if finished else ids[:most], log_p, score, finished)

    def scored(self, source: Sequence[int], found: list[Hypothesis], alpha: float) -> list[Hypothesis]:
        """Targets of one source with the model's own log p, nothing forbidden."""
        engine: Any = self.model
        results = engine.theirs.score_batch(
            [[self.source_pieces[id] for id in source]] * len(found),
            [[self.target_pieces[id] for id in one.ids] for one in found],
            max_input_length=0,
        )
        return [
            hypothesis(one.ids, sum(result.log_probs[: len(one.ids) + one.finished]), one.finished, alpha)
            for one, result in zip(found, results, strict=True)  # theirs always counts an end
        ]


def first_offence(ids: Sequence[int], forbidden: Forbidden) -> list[int]:
    """A target up to its first token that must not come there; empty if there is none."""
    for end, token in enumerate(ids):
        if token in forbidden(ids[:end]):
            return list(ids[: end + 1])
    return []
