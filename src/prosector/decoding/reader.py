"""A text with gaps, and what may stand in them; and which kind a text is of.

我[MASK]深度学习    →    喜欢 0.41, 学 0.22, …
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from prosector.config.folder import ReaderFolder
from prosector.data.batching import pad
from prosector.decoding.classifier import Guess
from prosector.decoding.folder import read_reader
from prosector.decoding.from_folder import FromFolder
from prosector.models.bert import Bert
from prosector.text import Tokenizer
from prosector.text.special import N_SPECIAL, PAD

MASK = "[MASK]"
GAP = "\ue000"  # a private character, of which no text has any, stands for the gap while the text is cut up


class Gap(NamedTuple):
    """What may stand in one gap, the likeliest first."""

    guesses: list[Guess]


class Reader(FromFolder):
    """A model that reads, with its tokenizer.

    >>> reader = prosector.load("bert")
    >>> reader.fill("我[MASK]深度学习", top=3)
    """

    read_folder = staticmethod(read_reader)

    def __init__(self, config: ReaderFolder, model: Bert, tokenizer: Tokenizer) -> None:
        self.config, self.model, self.tokenizer = config, model.eval(), tokenizer
        self.special = config.model.special
        given = (*self.special.unwritten, *self.special.ends, self.special.mask)
        self.no_words = [id for id in given if id is not None]

    @torch.inference_mode()
    def fill(self, text: str, top: int = 5) -> list[Gap]:
        """What may stand in each [MASK] of a text, the others still being gaps.

        Raises:
            ValueError: there is no [MASK], or the text is longer than the model can read.
        """
        ids = self.ids(text)
        places = [place for place, id in enumerate(ids) if id == self.model.mask_id]
        if not places:
            raise ValueError(f"there is no {MASK} in {text!r}: write it where a word is wanted")
        if len(ids) > self.config.max_tokens:
            raise ValueError(f"the text has {len(ids)} tokens, and the model reads {self.config.max_tokens} at most")
        device = next(self.model.parameters()).device
        scores = self.model(torch.tensor([ids], device=device))[0, places].float()  # [gaps, V]
        scores[:, self.no_words] = -torch.inf
        scores[:, self.tokenizer.vocab_size :] = -torch.inf  # spare rows of an imported model
        n_words = int((scores[0] > -torch.inf).sum())
        values, tokens = scores.softmax(dim=-1).topk(min(top, n_words), dim=-1)
        return [
            Gap([Guess(self.word(token), p) for token, p in zip(*row, strict=True)])
            for row in zip(tokens.tolist(), values.tolist(), strict=True)
        ]

    def filled(self, text: str) -> str:
        """The text with each gap filled by what is likeliest there."""
        for gap in self.fill(text, top=1):
            text = text.replace(MASK, gap.guesses[0].name, 1)
        return text

    def ids(self, text: str) -> list[int]:
        """What the model reads: a gap is one token, the space before it included.

        A vocabulary that has [MASK] among its words finds it in the text itself.
        """
        if self.special.mask is not None:
            return self.enclosed(self.tokenizer.encode(text))
        of_gap = self.tokenizer.encode(GAP)[-len(GAP.encode()) :]
        ids = self.enclosed(self.tokenizer.encode(text.replace(MASK, GAP)))
        found: list[int] = []
        place = 0
        while place < len(ids):
            if ids[place : place + len(of_gap)] == of_gap:
                if found[-1] >= N_SPECIAL and self.tokenizer.piece(found[-1]) == "▁":
                    found.pop()
                found.append(self.model.mask_id)
                place += len(of_gap)
            else:
                found.append(ids[place])
                place += 1
        return found

    def enclosed(self, ids: list[int]) -> list[int]:
        """A text's ids between its begin and its end."""
        before, after = ([] if id is None else [id] for id in (self.special.sos, self.special.eos))
        return [*before, *ids, *after]

    def word(self, token: int) -> str:
        """A token as people read it."""
        return self.tokenizer.piece(token).removeprefix("▁")

    @torch.inference_mode()
    def classify(self, texts: Sequence[str]) -> list[list[Guess]]:
        """Which label each text has, the likeliest first.

        Raises:
            ValueError: the model has learned no labels.
        """
        if not self.config.labels:
            raise ValueError("this model has learned no labels: train it further on labelled texts")
        device = next(self.model.parameters()).device
        rows = [self.enclosed(self.tokenizer.encode(text)[: self.config.max_tokens - 2]) for text in texts]
        ids = pad(rows, self.special.pad or PAD).to(device)
        chances = self.model.classify(self.model.hidden(ids)).float().softmax(dim=-1)
        return [
            [Guess(self.config.labels[i], row[i]) for i in sorted(range(len(row)), key=lambda i: -row[i])]
            for row in chances.tolist()
        ]
