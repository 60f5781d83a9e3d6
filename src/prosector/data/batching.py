"""Sentence pairs as tensors: shifted, padded, and gathered into batches of like length.

    source          我 喜欢 深度学习 <eos>
    decoder input   <sos> I like deep learning
    label           I like deep learning <eos>

A batch holds as many pairs as fit a budget of tokens, padding counted (a source that is sampled may come out a few
tokens longer than the budget knows). An epoch's batches are a
function of the seed and the epoch's number alone, so a run can go on from any of them.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from prosector.config.data import DataConfig
from prosector.data.corpus import Pair
from prosector.data.cutting import cut
from prosector.text.pieces import PieceTokenizer
from prosector.text.special import EOS, PAD, SOS
from prosector.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Batch:
    """What one step of training sees; padding is 0 everywhere."""

    src: Int[Tensor, "B Ls"]
    tgt_in: Int[Tensor, "B Lt"]
    labels: Int[Tensor, "B Lt"]
    n_tokens: int  # labels that are not padding

    @property
    def size(self) -> int:
        """How much it counts in training."""
        return self.n_tokens

    def to(self, device: torch.device) -> Batch:
        """The batch on a device."""
        return Batch(self.src.to(device), self.tgt_in.to(device), self.labels.to(device), self.n_tokens)


def pad(rows: Sequence[Sequence[int]], filler: int = PAD) -> Int[Tensor, "B L"]:
    """Rows of ids, filled up with `<pad>`, or another id, on the right to the longest."""
    table = np.full((len(rows), max(map(len, rows), default=0)), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table)


def collate(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], source_eos: bool) -> Batch:
    """Shift and pad: the decoder reads `<sos>` and the words before, and its label is the next word."""
    src = pad([[*ids, EOS] if source_eos else ids for ids in sources])
    tgt_in = pad([[SOS, *ids] for ids in targets])
    labels = pad([[*ids, EOS] for ids in targets])
    return Batch(src, tgt_in, labels, sum(len(ids) + 1 for ids in targets))


def share(members: range, weight: float, epoch: int, seed: int) -> Int[np.ndarray, " n"]:
    """A corpus' part in one epoch: all of it ⌊weight⌋ times, and for the rest of the weight the next part in turn."""
    whole = np.tile(np.arange(members.start, members.stop), int(weight))
    part = round(len(members) * (weight % 1))
    if weight < 1 and len(members):
        part = max(part, 1)  # however small the corpus
    turn = np.arange(epoch * part, (epoch + 1) * part) % max(len(members), 1)
    order = np.random.default_rng([seed, members.start]).permutation(np.arange(members.start, members.stop))
    return np.concatenate([whole, order[turn]])


class Batches:
    """The batches of a corpus, epoch after epoch, each epoch shuffled anew."""

    def __init__(
        self,
        corpora: Sequence[Sequence[Pair]],
        weights: Sequence[float],
        source: Tokenizer,
        target: Tokenizer,
        config: DataConfig,
        seed: int,
        n_positions: int = 2**62,
    ) -> None:
        """Encode every pair once.

        Args:
            n_positions: the longest source that the model can read; a sampled one that is longer is not used.

        Raises:
            ValueError: no pair is left once those over `max_tokens` are dropped, or the source is to be
                sampled by a tokenizer that cannot.
        """
        self.config, self.seed, self.n_positions = config, seed, n_positions
        self.tokenizer = source
        if config.sampling is not None and not isinstance(source, PieceTokenizer):
            raise ValueError("data.sampling needs a unigram tokenizer; leave it out, or set tokenizer.kind")
        self.texts: list[str] = []
        self.sources: list[list[int]] = []
        self.targets: list[list[int]] = []
        self.members: list[range] = []  # the examples of each corpus
        self.weights = list(weights)
        self.dropped = 0
        for corpus in corpora:
            start = len(self.texts)
            encoded = zip(
                corpus,
                source.encode_batch([pair.source for pair in corpus]),
                target.encode_batch([pair.target for pair in corpus]),
                strict=True,
            )
            for pair, src, tgt in encoded:
                if max(len(src), len(tgt)) >= config.max_tokens or not src or not tgt:
                    self.dropped += 1
                    continue
                self.texts.append(pair.source)
                self.sources.append(src)
                self.targets.append(tgt)
            self.members.append(range(start, len(self.texts)))
        if not self.texts:
            raise ValueError(f"no sentence pair is within data.max_tokens={config.max_tokens}; nothing to train on")

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as lists of examples' numbers."""
        rng = np.random.default_rng([self.seed, number])
        parts = zip(self.members, self.weights, strict=True)
        chosen = np.concatenate([share(members, weight, number, self.seed) for members, weight in parts])
        lengths = [max(len(src), len(tgt)) + 1 for src, tgt in zip(self.sources, self.targets, strict=True)]
        shuffled = rng.permutation(chosen)
        target_lengths = np.array([len(self.targets[i]) for i in shuffled])
        source_lengths = np.array([len(self.sources[i]) for i in shuffled])
        order = shuffled[np.lexsort((source_lengths, target_lengths, np.maximum(source_lengths, target_lengths)))]
        batches = cut(lengths, order.tolist(), self.config.batch_tokens)
        return [batches[i] for i in rng.permutation(len(batches))]

    def batch(self, examples: Sequence[int], epoch: int) -> Batch:
        """Examples as tensors, the source cut in the epoch's own way if it is sampled."""
        return collate(
            [self.source_ids(i, epoch) for i in examples], [self.targets[i] for i in examples], self.config.source_eos
        )

    def source_ids(self, example: int, epoch: int) -> list[int]:
        """An example's source; sampled, it depends on the seed, the epoch and the example alone."""
        if self.config.sampling is None or not isinstance(self.tokenizer, PieceTokenizer):
            return self.sources[example]
        rng = random.Random(f"{self.seed} {epoch} {example}")
        ids = self.tokenizer.sample(self.texts[example], self.config.sampling, rng, n_best=8)
        return ids if len(ids) < self.n_positions else self.sources[example]
