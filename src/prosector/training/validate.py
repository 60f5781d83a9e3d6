"""Validation: the loss of the development pairs, and BLEU and chrF of their greedy translations."""

from __future__ import annotations

from functools import cached_property

import torch

from prosector.config.model import n_positions
from prosector.config.run import RunConfig
from prosector.data.batching import collate
from prosector.data.corpus import Pair
from prosector.data.cutting import cut
from prosector.decoding.greedy_search import greedy
from prosector.decoding.repetition import RepetitionGuard, wordiness_of
from prosector.evaluation.perplexity import surprise
from prosector.evaluation.scores import score
from prosector.models.seq2seq import Seq2Seq
from prosector.text import Tokenizer
from prosector.training.precision import matrix_products
from prosector.training.report import Sample
from prosector.training.task import Validation


class Validator:
    """The development pairs, encoded once; those with more tokens than the model has positions are left out."""

    def __init__(
        self, pairs: list[Pair], source: Tokenizer, target: Tokenizer, config: RunConfig, device: torch.device
    ) -> None:
        self.source, self.target, self.config, self.device = source, target, config, device
        self.n_positions = n_positions(config.model)
        sources = source.encode_batch(pair.source for pair in pairs)
        targets = target.encode_batch(pair.target for pair in pairs)
        fitting = [i for i in range(len(pairs)) if max(len(sources[i]), len(targets[i])) < self.n_positions]
        self.pairs = [pairs[i] for i in fitting]
        self.sources, self.targets = [sources[i] for i in fitting], [targets[i] for i in fitting]
        lengths = [max(len(src), len(tgt)) + 1 for src, tgt in zip(self.sources, self.targets, strict=True)]
        order = sorted(range(len(self.pairs)), key=lengths.__getitem__)
        self.batches = cut(lengths, order, config.data.batch_tokens)
        self.shown = [pair for pair in range(len(self.pairs)) if 4 < lengths[pair] < 24][:3]

    def loss(self, model: Seq2Seq) -> float:
        """The mean surprise at a development token, - log p, unsmoothed."""
        data = self.config.data
        with matrix_products(self.config.training.precision, self.device):
            return surprise(model, self.sources, self.targets, data.source_eos, data.batch_tokens).loss

    @cached_property
    def wordiness(self) -> list[int]:
        """What the repetition guard knows of the target's tokens."""
        return wordiness_of(self.target)

    def translations(self, model: Seq2Seq, wanted: int) -> list[str]:
        """Greedy translations of the first pairs, in order."""
        written: dict[int, str] = {}
        for examples in self.batches:
            chosen = [i for i in examples if i < wanted]
            if not chosen:
                continue
            src = collate([self.sources[i] for i in chosen], [[]] * len(chosen), self.config.data.source_eos).src
            longest = [min(2 * len(self.sources[i]) + 10, self.n_positions - 1) for i in chosen]
            with matrix_products(self.config.training.precision, self.device):
                guard = RepetitionGuard([self.pairs[i].source for i in chosen], self.wordiness)
                found = greedy(model, src.to(self.device), max_length=longest, rule=guard)
            written |= {i: self.target.decode(hypothesis.ids) for i, hypothesis in zip(chosen, found, strict=True)}
        return [written[i] for i in sorted(written)]

    def __call__(self, model: Seq2Seq, limit: int | None = None) -> Validation:
        """Measure a model in evaluation, the scores on the first `limit` pairs, all by default; chrF chooses."""
        translations = self.translations(model, len(self.pairs) if limit is None else limit)
        references = [pair.target for pair in self.pairs[: len(translations)]]
        scores = score(translations, references, self.config.data.target)
        samples = [Sample(*self.pairs[i], translations[i]) for i in self.shown if i < len(translations)]
        notes = ("All development pairs, greedy", f"chrF `{scores.chrf_signature}`", f"BLEU `{scores.bleu_signature}`")
        return Validation(self.loss(model), {"chrF": scores.chrf, "BLEU": scores.bleu}, samples, notes, scores.chrf)
