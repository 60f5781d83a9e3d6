"""Gaps to fill: some tokens are asked for, most of them hidden.

    text     <sos> 我 喜欢 猫 <eos> ▁I ▁like ▁cats <eos>
    segment    0    0   0   0   0     1    1     1    1
    reads    <sos> 我 [MASK] 猫 <eos> ▁I ▁like ▁the <eos>
    labels            喜欢                     ▁cats            <pad> elsewhere: nobody asks

Of 15 % of the tokens 80 % become [MASK], 10 % any other token, 10 % stay, so that every token may be one that is asked
for (Devlin et al. 2019, section 3.1). Half of the second sentences are another pair's: do these two belong together?
Either language may come first, and some sentences are read alone, so that a user's may be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from prosector.config.reading import ReadingDataConfig
from prosector.data.batching import pad, share
from prosector.data.corpus import Pair
from prosector.data.cutting import cut
from prosector.text.special import EOS, N_SPECIAL, PAD, SOS
from prosector.text.tokenizer import Tokenizer

NOBODY = -100  # asks whether a sentence that is alone belongs to another; what cross_entropy leaves out


@dataclass(frozen=True)
class Gaps:
    """What one step of training sees."""

    ids: Int[Tensor, "B L"]
    segments: Int[Tensor, "B L"]
    wanted: Int[Tensor, "B L"]  # the token where one is asked for, `<pad>` elsewhere
    belong: Int[Tensor, " B"]  # 1 where the two sentences are a pair, 0 where not, NOBODY where there is one

    @property
    def size(self) -> int:
        """How many tokens are asked for."""
        return int((self.wanted != PAD).sum())

    def to(self, device: torch.device) -> Gaps:
        """The batch on a device."""
        return Gaps(*(part.to(device) for part in (self.ids, self.segments, self.wanted, self.belong)))


def hide(
    ids: Sequence[int], config: ReadingDataConfig, vocab: int, mask_id: int, rng: np.random.Generator
) -> tuple[list[int], list[int]]:
    """What is read, and what is wanted, of one text; special tokens are never asked for, one other always is."""
    may = [place for place, id in enumerate(ids) if id >= N_SPECIAL]
    chosen = set(rng.permutation(may)[: max(1, round(config.masked * len(may)))].tolist())
    reads, wanted = list(ids), [PAD] * len(ids)
    for place in sorted(chosen):
        wanted[place] = ids[place]
        chance = rng.random()
        if chance < config.as_mask:
            reads[place] = mask_id
        elif chance < config.as_mask + config.as_other:
            reads[place] = int(rng.integers(N_SPECIAL, vocab))
    return reads, wanted


class GapBatches:
    """Sentence pairs with gaps, epoch after epoch, the gaps elsewhere each time."""

    def __init__(
        self,
        corpora: Sequence[Sequence[Pair]],
        weights: Sequence[float],
        tokenizer: Tokenizer,
        config: ReadingDataConfig,
        seed: int,
    ) -> None:
        """Encode every pair once; an epoch goes through each corpus as often as its weight says.

        Raises:
            ValueError: no pair is short enough.
        """
        self.config, self.seed = config, seed
        self.vocab, self.mask_id = tokenizer.vocab_size, tokenizer.vocab_size
        self.pairs: list[tuple[list[int], list[int]]] = []
        self.members: list[range] = []  # the pairs of each corpus
        self.weights = list(weights)
        for corpus in corpora:
            first = tokenizer.encode_batch(pair.source for pair in corpus)
            second = tokenizer.encode_batch(pair.target for pair in corpus)
            both = [(a, b) for a, b in zip(first, second, strict=True) if a and b]
            start = len(self.pairs)
            self.pairs += [(a, b) for a, b in both if len(a) + len(b) + 3 <= config.max_tokens]
            self.members.append(range(start, len(self.pairs)))
        self.dropped = sum(map(len, corpora)) - len(self.pairs)
        if not self.pairs:
            raise ValueError(f"no sentence pair is within data.max_tokens={config.max_tokens}; nothing to train on")

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of pairs of like length."""
        rng = np.random.default_rng([self.seed, number])
        parts = zip(self.members, self.weights, strict=True)
        chosen = np.concatenate([share(members, weight, number, self.seed) for members, weight in parts])
        lengths = [len(a) + len(b) + 3 for a, b in self.pairs]
        order = sorted(rng.permutation(chosen).tolist(), key=lengths.__getitem__)
        batches = cut(lengths, order, self.config.batch_tokens)
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, which: Sequence[int], epoch: int) -> Gaps:
        """Pairs as tensors; the gaps, and whether a pair is torn apart, are a function of seed, epoch and pair."""
        rows = [self.row(number, epoch) for number in which]
        ids, segments, wanted, belong = zip(*rows, strict=True)
        return Gaps(pad(ids), pad(segments), pad(wanted), torch.tensor(belong))

    def row(self, number: int, epoch: int) -> tuple[list[int], list[int], list[int], int]:
        """One pair, or one of its sentences with another's that leaves it short enough, or alone."""
        rng = np.random.default_rng([self.seed, epoch, number])
        side = int(rng.random() < 0.5)  # which comes first
        first, second = self.pairs[number][side], self.pairs[number][1 - side]
        if rng.random() < self.config.alone:
            reads, wanted = hide([SOS, *first, EOS], self.config, self.vocab, self.mask_id, rng)
            return reads, [0] * len(reads), wanted, NOBODY
        belong = 1
        if rng.random() < 0.5:
            other = self.pairs[int(rng.integers(len(self.pairs)))][1 - side]
            if other != second and len(first) + len(other) + 3 <= self.config.max_tokens:
                second, belong = other, 0
        reads, wanted = hide([SOS, *first, EOS, *second, EOS], self.config, self.vocab, self.mask_id, rng)
        return reads, [0] * (len(first) + 2) + [1] * (len(second) + 1), wanted, belong
