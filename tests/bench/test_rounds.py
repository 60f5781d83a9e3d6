"""Contenders take turns, and what is told of them is right."""

import itertools
import statistics
import time

import pytest

from prosector.bench.rounds import in_turns, knockout, race, rate, turn


class Clock:
    """Time that passes only when somebody works or rests."""

    def __init__(self):
        self.now = 0.0

    def work(self, seconds, units):
        def run():
            self.now += seconds
            return units

        return run


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", lambda: clock.now)
    monkeypatch.setattr(time, "sleep", lambda seconds: setattr(clock, "now", clock.now + seconds))
    return clock


def test_a_turn_repeats_short_work_and_does_long_work_once(clock):
    assert turn(clock.work(0.01, 5), at_least=0.1) == pytest.approx(500)
    assert clock.now == pytest.approx(0.1, abs=0.011)
    assert turn(clock.work(2.0, 6), at_least=0.1) == pytest.approx(3)


def test_a_race_finds_who_is_faster_by_how_much(clock):
    found = race({"fast": clock.work(0.01, 30), "slow": clock.work(0.02, 15)}, seconds=3)
    assert found["fast"].median / found["slow"].median == pytest.approx(4)
    assert found["fast"].turns == found["slow"].turns >= 3


def test_nobody_always_comes_after_the_same_one(clock):
    names = [name for name, _ in in_turns({name: clock.work(0.1, 1) for name in "abc"}, seconds=0, rounds=4)]
    followed = set(itertools.pairwise(names))
    assert {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")} <= followed
    assert sorted(names) == sorted("abc" * 4)


def test_the_first_work_warms_up_and_is_not_timed(clock):
    calls = []

    def work():
        clock.now += 1.0 if not calls else 0.1
        calls.append(1)
        return 1

    assert race({"one": work}, seconds=0)["one"].low == pytest.approx(10)


def test_the_spread_is_that_of_the_quartiles():
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert rate(values) == (3.0, 2.0, 4.0, 5)
    assert rate([7.0]) == (7.0, 7.0, 7.0, 1)
    assert rate(values).median == statistics.median(values)
    assert str(rate([1234.4] * 3)) == "1,234 (1,234 to 1,234)"


def test_who_is_far_behind_takes_one_turn_and_the_others_go_on_there_and_back(clock):
    speeds, took = {"slow": 4.0, "near": 7.0, "fast": 10.0}, []

    def turn_of(name):
        took.append(name)
        clock.now += 1.0
        return speeds[name] + 0.1 * took.count(name)

    told = []
    found = knockout({name: lambda name=name: turn_of(name) for name in speeds}, 4.0, lambda *now: told.append(now))
    assert took == ["slow", "near", "fast", "fast", "near", "near", "fast"]
    assert told[:4] == [("slow", 1, 3), ("near", 2, 3), ("fast", 3, 3), ("fast", 1, 2)]
    assert found["slow"] == rate([4.1])
    assert found["near"] == rate([7.1, 7.2, 7.3])
    assert found["fast"].turns == 3


def test_a_knockout_of_no_seconds_has_the_rounds_it_must_have(clock):
    assert knockout({"one": lambda: 1.0}, 0.0, rounds=4)["one"].turns == 4
