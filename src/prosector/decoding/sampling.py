"""Sampling: the next word is drawn, from the model's distribution or from its more probable part.

    temperature t    p ∝ p^(1/t): below 1 sharper, above 1 flatter, towards 0 greedy
    top-k            only the k likeliest words (Fan et al. 2018)
    top-p            only the likeliest words that together reach p, the nucleus (Holtzman et al. 2020)

Each is a function of log-probabilities [.., V]; they are applied in this order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.path import write
from prosector.decoding.rules import Rule, anything_goes
from prosector.decoding.step import EncoderDecoder, one_for_each


def at_temperature(log_p: Float[Tensor, "*B V"], temperature: float) -> Float[Tensor, "*B V"]:
    """log of p^(1/t) / Σ p^(1/t)."""
    highest = log_p.max(dim=-1, keepdim=True).values  # taken off first, so that no temperature overflows
    return ((log_p - highest) / temperature).log_softmax(dim=-1)


def keep_top_k(log_p: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """-∞ for all but the k likeliest words; of equal ones the lower id stays."""
    order = log_p.argsort(dim=-1, descending=True, stable=True)
    return log_p.scatter(-1, order[..., k:], -torch.inf)


def keep_top_p(log_p: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """-∞ for all but the nucleus: the smallest number of likeliest words whose probabilities sum to p or more."""
    ordered, order = log_p.sort(dim=-1, descending=True, stable=True)
    probability = ordered.softmax(dim=-1)
    before = probability.cumsum(dim=-1) - probability  # of all likelier words together
    return log_p.scatter(-1, order, ordered.masked_fill(before >= p, -torch.inf))


def draw(log_p: Float[Tensor, "B V"], chance: Float[Tensor, " B"]) -> Int[Tensor, " B"]:
    """The word in whose share of [0, 1) the chance falls, the words' shares p laid end to end (inverse transform)."""
    up_to = log_p.double().softmax(dim=-1).cumsum(dim=-1)
    up_to = up_to / up_to[:, -1:]  # ends at exactly 1, so that every chance falls somewhere
    return torch.searchsorted(up_to, chance[:, None].to(up_to), right=True).squeeze(1)


def generator_of(seed: int, text: str) -> torch.Generator:
    """Chance that depends on the seed and the text alone, so that a text's company does not change its draws."""
    digest = hashlib.sha256(f"{seed}\n{text}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def chances_of(generators: Sequence[torch.Generator], longest: Sequence[int]) -> list[Float[Tensor, " L"]]:
    """Each row's numbers in [0, 1): one for each token of its longest target, and one for its end."""
    return [
        torch.rand(length + 1, generator=generator, dtype=torch.float64)
        for length, generator in zip(longest, generators, strict=True)
    ]


def sample(
    model: EncoderDecoder,
    src: Int[Tensor, "B Ls"],
    max_length: int | Sequence[int],
    generators: Sequence[torch.Generator],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    alpha: float = 1.0,
    rule: Rule = anything_goes,
) -> list[Hypothesis]:
    """Draw one target for each row, word by word. The log p of a hypothesis is the model's own, before any filter.

    Args:
        src: the sources' ids, `<pad>` on the right.
        max_length: tokens of the longest target, `<eos>` not counted; one number, or one a row.
        generators: each row's chance, on the CPU. All of a row's numbers are taken at once, before the
            next row's: so rows may share one generator too.
        rule: which tokens must not come next; the others are drawn as if these did not exist.

    Raises:
        ValueError: there are not as many generators as rows.
    """
    longest = one_for_each(max_length, len(src))
    if len(generators) != len(longest):
        raise ValueError(f"{len(generators)} generators for {len(longest)} rows; each row needs one")
    chances = chances_of(generators, longest)

    def drawn(log_p: Float[Tensor, "B V"], sources: Sequence[int], n_written: int) -> Int[Tensor, " B"]:
        kept = at_temperature(log_p.double(), temperature)
        if top_k is not None:
            kept = keep_top_k(kept, top_k)
        if top_p is not None:
            kept = keep_top_p(kept, top_p)
        return draw(kept, torch.stack([chances[source][n_written] for source in sources]))

    return write(model, src, max_length, drawn, alpha, rule)
