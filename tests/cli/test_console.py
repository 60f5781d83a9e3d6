"""What a command says while it works."""

import io

from prosector.cli.console import Doing


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_plain_lines_tell_the_first_and_the_last_and_few_between():
    stream = io.StringIO()
    with Doing(stream) as doing:
        doing.tell("loading")
        for done in range(1, 101):
            doing.count("counting", done, 100)
    assert stream.getvalue() == "loading\ncounting, 1 of 100\ncounting, 100 of 100\n"


def test_between_them_one_is_told_every_few_seconds(monkeypatch):
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    stream = io.StringIO()
    with Doing(stream) as doing:
        for done in range(1, 21):
            doing.count("counting", done, 20)
    assert 4 <= stream.getvalue().count("\n") < 12


def test_a_terminals_line_is_written_anew_and_taken_away(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    with Doing(stream) as doing:
        doing.tell("loading")
        doing.note("no gap")
        doing.tell("running")
    assert stream.getvalue() == "\r\x1b[Kloading …\r\x1b[Kno gap\n\r\x1b[Krunning …\r\x1b[K"
