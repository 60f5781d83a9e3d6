"""A run on the screen: live on a terminal, lines anywhere else."""

import io

import pytest
from rich.console import Console

from prosector.cli import display
from prosector.cli.display import LiveReporter, clock, reporter, sparkline
from prosector.training.report import LineReporter, Sample


class Terminal(io.StringIO):
    """A screen that remembers all that was written on it."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [
        ([], 40, ""),
        ([3.0], 40, "▁"),
        ([2.0, 2.0], 40, "▁▁"),
        ([8, 7, 6, 5, 4, 3, 2, 1], 8, "█▇▆▅▄▃▂▁"),
        ([8, 8, 1, 1], 2, "█▁"),
        ([1, 3, 8, 8], 2, "▁█"),
    ],
)
def test_a_curve_in_one_line(values, width, line):
    """From the lowest mean to the highest there are eight steps."""
    assert sparkline(values, width) == line


def test_times_read_as_on_a_clock():
    assert [clock(seconds) for seconds in (0, 59.9, 61, 3600, 7325)] == ["0:00", "0:59", "1:01", "1:00:00", "2:02:05"]


@pytest.fixture
def moment(monkeypatch):
    """A clock that one sets."""
    now = [0.0]
    monkeypatch.setattr(display.time, "monotonic", lambda: now[0])
    return now


def test_the_picture_tells_the_numbers(moment):
    """Ten of forty steps, 100 tokens a second-long step: 100 tokens/s, and half a minute left."""
    live = LiveReporter(Console(file=io.StringIO()))
    assert live.picture().plain == ""
    live.start(0, 40, "target tokens")
    for step in range(1, 11):
        moment[0] += 1
        live.step(step, 11.0 - step, 1e-3, 100)
    live.validated(10, "loss 2.500  chrF 34.6  BLEU 12.3", [Sample("我喜欢猫。", "I like cats.", "I like dogs.")])
    lines = live.picture().plain.splitlines()
    assert lines[0].endswith("step 10/40  0:30 left")
    assert lines[1].startswith("█")
    assert lines[1].endswith("loss 5.500")
    assert "100 target tokens/s" in lines[2]
    assert "learning rate 1.00e-03" in lines[2]
    assert lines[3] == "step 10: development loss 2.500  chrF 34.6  BLEU 12.3"
    assert lines[4] == "  我喜欢猫。  →  I like dogs."
    live.stop()
    assert "choosing among" in live.picture().plain
    live.end()
    assert live.picture().plain.splitlines()[0].endswith("stopped")


def test_a_resumed_run_tells_the_time_from_this_sitting(moment):
    """Two of ten steps in two seconds: eight seconds left for the other eight."""
    live = LiveReporter(Console(file=io.StringIO()))
    live.start(90, 100, "target tokens")
    for step in (91, 92):
        moment[0] += 1
        live.step(step, 1.0, 1e-3, 10)
    assert "step 92/100  0:08 left" in live.picture().plain


def test_a_terminal_is_drawn_on_and_nothing_else_is(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    screen = Terminal()
    with reporter(screen) as live:
        live.say("reading")
        live.start(0, 2, "pictures")
        live.step(1, 2.0, 1e-3, 10)
        live.step(2, 1.0, 1e-3, 10)
        live.stop()
    assert "reading" in screen.getvalue()
    assert "step 2/2  done" in screen.getvalue()

    with reporter(io.StringIO()) as lines:
        assert isinstance(lines, LineReporter)
    monkeypatch.setenv("TERM", "dumb")
    with reporter(Terminal()) as lines:
        assert isinstance(lines, LineReporter)


@pytest.mark.parametrize("wanted", [True, False])
def test_colours_only_where_they_are_wanted(monkeypatch, wanted):
    monkeypatch.setenv("TERM", "xterm-256color")
    if wanted:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    screen = Terminal()
    with reporter(screen) as live:
        live.start(0, 2, "pictures")
        live.step(1, 2.0, 1e-3, 10)
    assert ("\x1b[32m" in screen.getvalue()) == wanted


def test_no_color_may_stand_anywhere(monkeypatch):
    from prosector.cli.console import no_color

    monkeypatch.delenv("NO_COLOR", raising=False)
    with no_color(["train", "--no-color", "demo", "--", "--no-color"]) as kept:
        assert kept == ["train", "demo", "--", "--no-color"]
        assert display.console(Terminal()).no_color
    assert not display.console(Terminal()).no_color
