"""Who is faster? Contenders take turns, so that whatever else the machine does meets them all alike.

A turn repeats the work until it has taken long enough to be timed; what counts is units of work a second. Of all turns
the median is told, with the quartiles: the slowest say what else was running, the fastest how lucky one can be.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

Work = Callable[[], float]  # does it once, and says how many units it was

TURN = 0.1  # seconds that a turn lasts at least
REST = 0.02  # seconds between turns, in which the threads of the one before go to sleep


class Rate(NamedTuple):
    """Units a second over several turns.

    Attributes:
        median: of all turns.
        low: the first quartile.
        high: the third.
        turns: how many there were.
    """

    median: float
    low: float
    high: float
    turns: int

    def __str__(self) -> str:
        spread = f" ({self.low:,.0f} to {self.high:,.0f})" if self.turns > 1 else ""
        return f"{self.median:,.0f}{spread}"


def turn(work: Work, at_least: float = TURN) -> float:
    """Units a second of one turn."""
    units, began = 0.0, time.perf_counter()
    while (passed := time.perf_counter() - began) < at_least or not units:
        units += work()
    return units / passed


def in_turns(
    contenders: Mapping[str, Work], seconds: float, at_least: float = TURN, rounds: int = 3
) -> Iterator[tuple[str, float]]:
    """Every contender's turns as they happen, its name and units a second; the first round warms up and is not told.

    Args:
        contenders: what each of them does.
        seconds: how long all of it may take; at least so many `rounds` are played.
        at_least: how long a turn lasts.
    """
    for work in contenders.values():
        work()
    began, played = time.perf_counter(), 0
    while played < rounds or time.perf_counter() - began < seconds:
        order = list(contenders.items())
        for name, work in order if played % 2 else reversed(order):  # nobody always comes after the same one
            time.sleep(REST)
            yield name, turn(work, at_least)
        played += 1


def rate(values: Sequence[float]) -> Rate:
    """Median and quartiles of some turns."""
    if len(values) == 1:
        return Rate(values[0], values[0], values[0], 1)
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Rate(median, low, high, len(values))


def race(contenders: Mapping[str, Work], seconds: float, at_least: float = TURN) -> dict[str, Rate]:
    """Who does how much in a second, all of them having taken turns."""
    found: dict[str, list[float]] = {name: [] for name in contenders}
    for name, value in in_turns(contenders, seconds, at_least):
        found[name].append(value)
    return {name: rate(values) for name, values in found.items()}


def knockout(
    turns: Mapping[str, Callable[[], float]],
    seconds: float,
    tell: Callable[[str, int, int], None] = lambda name, turn, turns: None,
    rounds: int = 3,
    close: float = 1 / 2,
) -> dict[str, Rate]:
    """Everybody takes one turn; those that came close to the fastest take more.

    Args:
        turns: of each contender, units a second of one turn of it.
        seconds: how long the rounds after the first may take; `rounds` are played at least, the first included.
        tell: is told whose turn it is, which one of how many in this round.
        close: of the fastest's units a second.
    """
    found: dict[str, list[float]] = {name: [] for name in turns}
    order, played, began = list(turns), 0, 0.0
    while played < rounds or time.perf_counter() - began < seconds:
        for number, name in enumerate(order, start=1):
            tell(name, number, len(order))
            found[name].append(turns[name]())
        if not played:
            began, best = time.perf_counter(), max(value for (value,) in found.values())
            order = [name for name in order if found[name][0] >= close * best]
        order.reverse()  # nobody always comes after the same one
        played += 1
    return {name: rate(values) for name, values in found.items()}
