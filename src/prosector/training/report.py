"""What a run tells whoever watches it; the plain reporter writes a line now and then."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple, Protocol, TextIO


class Sample(NamedTuple):
    """What a model was given, what is wanted of it, and what it makes of it now."""

    given: str
    wanted: str
    made: str


class Reporter(Protocol):
    """Hears of a run's progress."""

    def say(self, text: str) -> None:
        """Something in words."""

    def start(self, step: int, steps: int, unit: str) -> None:
        """Training begins, or goes on, after `step` of `steps`; what a batch's size counts."""

    def step(self, step: int, loss: float, learning_rate: float, size: int) -> None:
        """One update is done, on so many target tokens or pictures."""

    def validated(self, step: int, figures: str, samples: list[Sample]) -> None:
        """A validation is done: its figures in one line."""

    def stop(self) -> None:
        """Training ends."""


class LineReporter:
    """Progress as lines of text, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, every: int = 50) -> None:
        self.stream = stream or sys.stderr
        self.every = every
        self.steps, self.unit = 0, ""
        self.since, self.size = time.monotonic(), 0

    def say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def start(self, step: int, steps: int, unit: str) -> None:
        self.steps, self.unit = steps, unit
        self.since, self.size = time.monotonic(), 0

    def step(self, step: int, loss: float, learning_rate: float, size: int) -> None:
        self.size += size
        if step % self.every == 0 or step == self.steps:
            rate = f"{self.size / max(time.monotonic() - self.since, 1e-9):,.0f} {self.unit}/s"
            self.since, self.size = time.monotonic(), 0
            self.say(f"step {step:>6,}/{self.steps:,}  loss {loss:.3f}  lr {learning_rate:.2e}  {rate}")

    def validated(self, step: int, figures: str, samples: list[Sample]) -> None:
        self.say(f"step {step:>6,}/{self.steps:,}  development: {figures}")
        for sample in samples:
            self.say(f"    {sample.given}  →  {sample.made}")
        self.since, self.size = time.monotonic(), 0

    def stop(self) -> None:
        pass
