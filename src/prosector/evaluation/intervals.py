"""How far a BLEU would lie had other sentences been drawn: the bootstrap over sentences (Koehn 2004)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from sacrebleu.metrics.bleu import BLEU

ORDERS = 4  # n-grams of up to so many words


class Interval(NamedTuple):
    """Where 95 % of the resampled figures lie."""

    low: float
    high: float


def matches(hypotheses: Sequence[str], references: Sequence[str], language: str) -> torch.Tensor:
    """What BLEU adds up over sentences, [sentences, 10]: matches and n-grams of each order, and both lengths.

    Raises:
        ValueError: there are not as many references as translations, or none.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} translations and {len(references)} references: give one reference each")
    bleu = BLEU(tokenize="zh" if language == "zh" else "13a", effective_order=True)
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        found = bleu.sentence_score(hypothesis, [reference])
        rows.append([*found.counts, *found.totals, found.sys_len, found.ref_len])
    return torch.tensor(rows, dtype=torch.long)


def bleu_of(added: torch.Tensor) -> float:
    """The corpus BLEU of added-up rows of `matches`."""
    *numbers, written, wanted = (int(number) for number in added)
    return float(BLEU.compute_bleu(numbers[:ORDERS], numbers[ORDERS:], written, wanted, "exp").score)


def mean_bleu_interval(runs: Sequence[torch.Tensor], resamples: int = 1000, seed: int = 0) -> Interval:
    """The 95 % interval of the mean BLEU of several runs that translated the same sentences.

    A resample draws as many sentences as there are, with replacement, the same for every run.

    Args:
        runs: `matches` of each run.
    """
    generator = torch.Generator().manual_seed(seed)
    n = len(runs[0])
    means = []
    for _ in range(resamples):
        drawn = torch.randint(n, (n,), generator=generator)
        means.append(sum(bleu_of(rows[drawn].sum(0)) for rows in runs) / len(runs))
    low, high = torch.tensor(means).quantile(torch.tensor([0.025, 0.975])).tolist()
    return Interval(low, high)
