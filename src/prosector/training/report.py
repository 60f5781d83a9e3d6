"""What a run tells whoever watches it; the plain reporter writes a line now and then."""

from __future__ import annotations

import sys
import time
from typing import NamedTuple, Protocol, TextIO


class Sample(NamedTuple):
    """A development sentence, its reference, and what the model writes now."""

    source: str
    reference: str
    translation: str


class Reporter(Protocol):
    """Hears of a run's progress."""

    def say(self, text: str) -> None:
        """Something in words."""

    def start(self, step: int, steps: int) -> None:
        """Training begins, or goes on, after `step` of `steps`."""

    def step(self, step: int, loss: float, learning_rate: float, n_tokens: int) -> None:
        """One update is done, on so many target tokens."""

    def validated(self, step: int, loss: float, bleu: float, chrf: float, samples: list[Sample]) -> None:
        """A validation is done."""

    def stop(self) -> None:
        """Training ends."""


class LineReporter:
    """Progress as lines of text, for logs and pipes."""

    def __init__(self, stream: TextIO | None = None, every: int = 50) -> None:
        self.stream = stream or sys.stderr
        self.every = every
        self.steps = 0
        self.since, self.n_tokens = time.monotonic(), 0

    def say(self, text: str) -> None:
        print(text, file=self.stream, flush=True)

    def start(self, step: int, steps: int) -> None:
        self.steps = steps
        self.since, self.n_tokens = time.monotonic(), 0

    def step(self, step: int, loss: float, learning_rate: float, n_tokens: int) -> None:
        self.n_tokens += n_tokens
        if step % self.every == 0 or step == self.steps:
            rate = self.n_tokens / max(time.monotonic() - self.since, 1e-9)
            self.since, self.n_tokens = time.monotonic(), 0
            self.say(f"step {step:>6,}/{self.steps:,}  loss {loss:.3f}  lr {learning_rate:.2e}  {rate:,.0f} tokens/s")

    def validated(self, step: int, loss: float, bleu: float, chrf: float, samples: list[Sample]) -> None:
        self.say(f"step {step:>6,}/{self.steps:,}  development: loss {loss:.3f}  BLEU {bleu:.1f}  chrF {chrf:.1f}")
        for sample in samples:
            self.say(f"    {sample.source}  →  {sample.translation}")
        self.since, self.n_tokens = time.monotonic(), 0

    def stop(self) -> None:
        pass
