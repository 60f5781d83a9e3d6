"""Who trains fastest? A step of ours, forward, backward and AdamW, against the libraries of `trainers.py` and JoeyNMT.

Each of them takes part in float32, in bf16 where the machine multiplies it, and both with the allocator of memory as it
is and with one that keeps what was freed for the next step. Each has a process of its own, one after the other.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from prosector.bench import apart, joeynmt
from prosector.bench.contest import WORDS, config_of
from prosector.bench.rounds import Rate, knockout
from prosector.bench.trainers import CONTENDERS, CPU, LEARNING_RATE, OURS, SMOOTHING, Weights, first, sentences
from prosector.config.transformer import TransformerConfig
from prosector.evaluation.cost import training_operations
from prosector.training.precision import Precision, multiplies_bf16

DROPOUT = 0.1
PAIRS = {"small": 128, "base": 80}
TURN = {"small": 3.0, "base": 3.0}  # seconds that a turn lasts at least
TUNED = ", tuned"
ALLOCATORS: dict[str, dict[str, str]] = {
    "": {},
    TUNED: {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296"
        ":glibc.malloc.trim_threshold=8589934592:glibc.malloc.top_pad=268435456"
    },
}
Ask = Callable[[apart.Order, Mapping[str, str]], apart.Turn]


class Result(NamedTuple):
    """A contest: its size, the pairs of a step, and of each contender in each type, by name.

    Attributes:
        gflop: that a target token takes.
        losses: before the first step.
        weights: whose each began with.
        rates: target tokens a second.
        versions: of what runs in a Python of its own.
    """

    size: str
    pairs: int
    gflop: float
    losses: dict[str, float]
    weights: dict[str, Weights]
    rates: dict[str, Rate]
    versions: dict[str, str]

    @property
    def ratio(self) -> float:
        """Ours over the best peer's, each at its best."""
        return self.ratio_of(self.rates)

    def ratio_of(self, names: Iterable[str]) -> float:
        """The same among some contenders."""
        best = {True: 0.0, False: 0.0}
        for name in names:
            ours = name.startswith(OURS)
            best[ours] = max(best[ours], self.rates[name].median)
        return best[True] / best[False]

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        rates = {name: rate._asdict() for name, rate in self.rates.items()}
        tuned = [name for name in self.rates if name.endswith(TUNED)]
        plain = [name for name in self.rates if name not in tuned]
        ratios = {"as it is": self.ratio_of(plain)} | ({"tuned": self.ratio_of(tuned)} if tuned else {})
        return self._asdict() | {"rates": rates, "ratio": self.ratio, "ratios": ratios}


def precisions() -> tuple[Precision, ...]:
    """The types of products that may be the fastest on this machine."""
    return ("float32", "bf16") if multiplies_bf16(CPU) else ("float32",)


def allocators() -> dict[str, dict[str, str]]:
    """The ways in which memory may be handed out here, by what a contender's name gets: others than glibc have one."""
    return ALLOCATORS if platform.libc_ver()[0] == "glibc" else {"": {}}


def run(
    size: str,
    seconds: float,
    types: Sequence[Precision],
    joey: Path | None = None,
    tell: Callable[[str, int, int], None] = lambda name, turn, turns: None,
    ask: Ask | None = None,
) -> Result:
    """Let them all train on one batch, in turns.

    Args:
        size: of the models.
        seconds: how long those that came close to the fastest may take turns.
        types: of the products.
        joey: a Python that has JoeyNMT, if it shall take part.
        tell: is told whose turn it is, which one of how many in this round.
        ask: how a contender is told to train for a while; by `apart.ask` if not given.

    Raises:
        RuntimeError: a contender failed.
    """
    config, pairs = config_of(size, dropout=DROPOUT), PAIRS.get(size, 16)
    given = sentences(pairs, WORDS)
    losses: dict[str, float] = {}
    weights: dict[str, Weights] = {}
    versions: dict[str, str] = {}
    turns: dict[str, Callable[[], float]] = {}

    def turn(name: str, order: apart.Order, environment: Mapping[str, str]) -> float:
        found = (ask or apart.ask)(order, environment)
        losses[name], weights[name] = found.loss, "ours" if found.weights == "ours" else "its own"
        return found.rate

    def joeynmt_turn(name: str, order: apart.Order, environment: Mapping[str, str]) -> float:
        with joeynmt_of(config, pairs, joey, environment) as theirs:  # type: ignore[arg-type]
            versions.update(theirs.versions)
            losses[name], weights[name] = theirs.do(f"loss {order.precision}"), "ours"
            return apart.warmed(lambda: float(theirs.do(f"step {order.precision}")), order.seconds)

    threads = torch.get_num_threads()
    for suffix, environment in allocators().items():
        for who in (*CONTENDERS, *(["JoeyNMT"] if joey else [])):
            for precision in types:
                order = apart.Order(who, precision, config.model_dump_json(), pairs, threads, TURN.get(size, 0.0))
                name = f"{who}, {precision}{suffix}"
                turns[name] = partial(turn if who in CONTENDERS else joeynmt_turn, name, order, environment)
    rates = knockout(turns, seconds, tell)
    mean = given.n_tokens / pairs
    operations = training_operations(config, round(mean), round(mean)) / mean
    return Result(size, pairs, operations / 1e9, losses, weights, rates, versions)


def joeynmt_of(config: TransformerConfig, pairs: int, python: Path, environment: Mapping[str, str]) -> joeynmt.JoeyNMT:
    """JoeyNMT with the weights that ours begin with."""
    given = sentences(pairs, WORDS)
    batch = {"src": given.src, "tgt_in": given.tgt_in, "labels": given.labels}
    settings = {"smoothing": SMOOTHING, "learning_rate": LEARNING_RATE}
    return joeynmt.learning(first(config), batch | settings, python, torch.get_num_threads(), environment)
