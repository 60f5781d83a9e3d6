"""Beam search: follow the k most probable beginnings at once, instead of one.

    1. each running hypothesis is continued by its k likeliest words;
    2. of all these and of the finished hypotheses in the beam, the k most probable stay (by Σ log p);
    3. one that took `<eos>` is finished: it keeps its place, and costs no further step;
    4. until none is running, or none that is running can still win.

A beam of one is greedy decoding. A beam that holds every possible target finds the best of all
(Sutskever et al. 2014, section 3.2; the end as in Huang et al. 2017, "When to Finish?").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.config.special import first_id
from prosector.decoding.hypothesis import Hypothesis, hypothesis, length_normalised
from prosector.decoding.rules import Rule, anything_goes
from prosector.decoding.step import EncoderDecoder, Writer, one_for_each, special_of

# --- arithmetic --------------------------------------------------------------------------------------------------


class Running(NamedTuple):
    """A beginning that is still being written."""

    ids: list[int]
    log_p: float


Continuation = tuple[int, float]  # a token and its log p


def likeliest_tokens(log_p: Float[Tensor, "R V"], k: int) -> list[list[Continuation]]:
    """Each row's k likeliest tokens with their log p, the best first and of equal ones the lower id; none of -∞."""
    k = min(k, log_p.shape[1])
    values, tokens = log_p.topk(k, dim=1)
    # Which of several equal values `topk` takes is left open. Where that matters, sort, which takes longer.
    equal = (values[:, 1:] == values[:, :-1]).any(dim=1) | ((log_p >= values[:, -1:]).sum(dim=1) > k)
    if equal.any():
        ordered, order = log_p[equal].sort(dim=1, descending=True, stable=True)
        values[equal], tokens[equal] = ordered[:, :k], order[:, :k]
    return [
        [(token, value) for token, value in zip(row_tokens, row_values, strict=True) if value > -torch.inf]
        for row_tokens, row_values in zip(tokens.tolist(), values.tolist(), strict=True)
    ]


def choose(
    running: Sequence[Running], continuations: Sequence[Sequence[Continuation]], held: Sequence[float], k: int
) -> tuple[list[tuple[int, int, float]], list[float]]:
    """The k most probable of all continuations and of the finished hypotheses in the beam; of equal ones the earlier.

    Args:
        running: the beginnings.
        continuations: the likeliest ones of each.
        held: Σ log p of the finished hypotheses in the beam.

    Returns:
        The chosen continuations as (number of the beginning, token, Σ log p), and what of `held` stays.
    """
    candidates = [(log_p, -1, -1) for log_p in held]
    for parent, (begun, following) in enumerate(zip(running, continuations, strict=True)):
        candidates += [(begun.log_p + log_p, parent, token) for token, log_p in following]
    chosen = sorted(candidates, key=lambda candidate: -candidate[0])[:k]  # a stable sort
    return (
        [(parent, token, log_p) for log_p, parent, token in chosen if parent >= 0],
        [log_p for log_p, parent, _ in chosen if parent < 0],
    )


def best_possible_score(log_p: float, max_length: int, alpha: float) -> float:
    """What a running hypothesis can score at most: Σ log p / (max_length + 1)ᵅ.

    A further token adds log p ≤ 0, so its Σ log p never rises above today's. Divided by lengthᵅ with
    α ≥ 0 a negative number is highest for the longest length there is: max_length tokens and `<eos>`.
    Both at once would take tokens of probability 1; the bound is loose then, but never too low.
    """
    return length_normalised(log_p, max_length + 1, alpha)


def best(hypotheses: Sequence[Hypothesis], n: int) -> list[Hypothesis]:
    """The n of the highest score, the best first; of equal ones the earlier."""
    return sorted(hypotheses, key=lambda found: -found.score)[:n]


# --- search ------------------------------------------------------------------------------------------------------


@dataclass
class Beam:
    """The search for one source's target."""

    size: int
    alpha: float
    n_best: int
    max_length: int
    ends: Sequence[int]
    running: list[Running] = field(default_factory=lambda: [Running([], 0.0)])
    held: list[float] = field(default_factory=list)
    finished: list[Hypothesis] = field(default_factory=list)  # all of them, also those no longer in the beam
    cut: list[Hypothesis] = field(default_factory=list)

    def n_continuations(self) -> int:
        """How many of each row are needed."""
        return self.size

    def advance(self, continuations: Sequence[Sequence[Continuation]]) -> list[int]:
        """One step on. Returns which of the running hypotheses each of the new ones goes on from."""
        begun, self.running, parents = self.running, [], []
        if begun and len(begun[0].ids) == self.max_length:  # all are as long: they can end, or are cut
            continuations = [[(token, log_p) for token, log_p in some if token in self.ends] for some in continuations]
            self.cut = [hypothesis(ids, log_p, False, self.alpha) for ids, log_p in begun]
        chosen, self.held = choose(begun, continuations, self.held, self.size)
        for parent, token, log_p in chosen:
            ids = begun[parent].ids
            if token in self.ends:
                self.held.append(log_p)
                self.finished.append(hypothesis(ids, log_p, True, self.alpha))
            else:
                self.running.append(Running([*ids, token], log_p))
                parents.append(parent)
        if self.is_decided():
            self.running, parents = [], []
        return parents

    def is_decided(self) -> bool:
        """Whether no running hypothesis can still come among the n best."""
        if len(self.finished) < self.n_best or not self.running:
            return False
        to_beat = best(self.finished, self.n_best)[-1].score
        hope = max(log_p for _, log_p in self.running)
        return best_possible_score(hope, self.max_length, self.alpha) <= to_beat

    def result(self) -> list[Hypothesis]:
        """The n best finished hypotheses; those cut at the longest length only if none is finished."""
        return best(self.finished or self.cut, self.n_best)


@torch.inference_mode()
def beam_search(
    model: EncoderDecoder,
    src: Int[Tensor, "B Ls"],
    max_length: int | Sequence[int],
    *,
    beam: int = 4,
    alpha: float = 1.0,
    n_best: int = 1,
    rule: Rule = anything_goes,
    kind: type[Beam] = Beam,
) -> list[list[Hypothesis]]:
    """Each row's best targets, the best first, all different; at least one, at most `n_best`.

    A hypothesis scores Σ log p / lengthᵅ, `<eos>` counted. What is finished leaves the batch.

    Args:
        src: the sources' ids, `<pad>` on the right.
        max_length: tokens of the longest target, `<eos>` not counted; one number, or one a row.
        beam: how many hypotheses are followed at once.
        alpha: 0 prefers short targets, 1 compares means; larger prefers long ones.
        rule: which tokens must not come next.
        kind: the beam: this one, or `refilling.RefillingBeam`, which is most other libraries'.

    Raises:
        ValueError: beam or n_best below 1, or alpha below 0, for which the search would not know when to end.
    """
    if beam < 1 or n_best < 1 or alpha < 0:
        raise ValueError(f"beam={beam}, n_best={n_best} and alpha={alpha}: the first two start at 1, alpha at 0")
    special = special_of(model)
    beams = [kind(beam, alpha, n_best, longest, special.ends) for longest in one_for_each(max_length, len(src))]
    writer = Writer(model, src)
    while any(search.running for search in beams):
        rows = [(source, begun) for source, search in enumerate(beams) for begun in search.running]
        last = [begun.ids[-1] if begun.ids else first_id(special) for _, begun in rows]
        log_p = writer.step(last, [rule(source, begun.ids) for source, begun in rows])  # [R, V]
        continuations = likeliest_tokens(log_p, max(search.n_continuations() for search in beams))

        start, going = 0, []
        for search in beams:
            end = start + len(search.running)
            going += [start + parent for parent in search.advance(continuations[start:end])]
            start = end
        writer.select(going)
    return [search.result() for search in beams]
