"""A training run on the screen: live on a terminal, lines of text anywhere else."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, TextIO

from prosector.cli.console import console, is_terminal
from prosector.training.report import LineReporter, Reporter, Sample

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 40  # characters of the curve and the bar


@contextmanager
def reporter(stream: TextIO | None = None, every: int = 50) -> Iterator[Reporter]:
    """Whoever tells of a run on this stream, stderr if none is given."""
    stream = stream or sys.stderr
    if not is_terminal(stream):
        yield LineReporter(stream, every)
        return
    from rich.live import Live

    screen = console(stream)
    live = LiveReporter(screen)
    with Live(console=screen, refresh_per_second=4, get_renderable=live.picture) as shown:
        try:
            yield live
        finally:
            live.end()
            shown.refresh()


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """A curve in one line of text: the means of equal stretches, between their lowest and their highest."""
    if not values:
        return ""
    n_bars = min(width, len(values))
    edges = [round(bar * len(values) / n_bars) for bar in range(n_bars + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    low, span = min(means), max(means) - min(means)
    return "".join(BARS[round((mean - low) / span * (len(BARS) - 1)) if span else 0] for mean in means)


def clock(seconds: float) -> str:
    """Minutes and seconds, and hours if there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class LiveReporter:
    """A picture of the run, drawn anew four times a second."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen
        self.losses: list[float] = []
        self.first, self.done, self.steps = 0, 0, 0
        self.learning_rate = 0.0
        self.recent: deque[tuple[float, int]] = deque([(time.monotonic(), 0)], maxlen=100)  # when, how much
        self.unit = ""
        self.began = time.monotonic()
        self.scores = ""
        self.samples: list[Sample] = []
        self.running = self.ended = False

    def say(self, text: str) -> None:
        self.screen.print(text, markup=False)

    def start(self, step: int, steps: int, unit: str) -> None:
        self.unit = unit
        self.first = self.done = step
        self.steps = steps
        self.began = time.monotonic()
        self.recent = deque([(self.began, 0)], self.recent.maxlen)
        self.running = True

    def step(self, step: int, loss: float, learning_rate: float, size: int) -> None:
        self.done, self.learning_rate = step, learning_rate
        self.losses.append(loss)
        self.recent.append((time.monotonic(), size))

    def validated(self, step: int, figures: str, samples: list[Sample]) -> None:
        self.scores = f"step {step:,}: development {figures}"
        self.samples = samples
        pause = time.monotonic() - self.recent[-1][0]  # a validation's time is not training's
        self.recent = deque(((then + pause, size) for then, size in self.recent), self.recent.maxlen)

    def stop(self) -> None:
        self.running = False

    def end(self) -> None:
        """Nothing more will come."""
        self.running, self.ended = False, True

    # The picture

    def speed(self) -> float:
        """Target tokens, or pictures, a second over the last hundred steps."""
        seen = list(self.recent)
        seconds = seen[-1][0] - seen[0][0]
        return sum(size for _, size in seen[1:]) / seconds if seconds > 0 else 0.0

    def time_left(self) -> str:
        """From the steps of this sitting, validations included."""
        ahead, done = self.steps - self.done, self.done - self.first
        if not done:
            return "…"
        return clock((time.monotonic() - self.began) / done * ahead)

    def picture(self) -> RenderableType:
        """Bar, numbers, curve, samples."""
        from rich.text import Text

        if not self.steps:
            return Text("")
        full = round(WIDTH * self.done / self.steps)
        loss = sum(self.losses[-20:]) / max(len(self.losses[-20:]), 1)
        bar = Text.assemble(("━" * full, "green"), ("━" * (WIDTH - full), "dim"))
        lines = [
            Text.assemble(bar, f"  step {self.done:,}/{self.steps:,}", self.ending()),
            Text.assemble((f"{sparkline(self.losses):<{WIDTH}}", "cyan"), "  loss ", (f"{loss:.3f}", "bold")),
            Text(f"{self.speed():>{WIDTH - 22},.0f} {self.unit}/s      learning rate {self.learning_rate:.2e}"),
        ]
        lines += [Text(self.scores, "bold")] if self.scores else []
        lines += [
            Text.assemble("  ", sample.given, ("  →  ", "dim"), (sample.made, "yellow")) for sample in self.samples
        ]
        return Text("\n", no_wrap=True, overflow="ellipsis").join(lines)

    def ending(self) -> str:
        """What stands behind the bar."""
        if self.running:
            return f"  {self.time_left()} left"
        if not self.ended:
            return "  choosing among its last, best and averaged weights"
        return "  done" if self.done == self.steps else "  stopped"
