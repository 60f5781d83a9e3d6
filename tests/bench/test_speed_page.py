"""The page of results: tables from files alone, prose that stays, and nothing made up where nothing was measured."""

import json
from pathlib import Path

import pytest

from prosector.bench.report import Rate

speed = pytest.importorskip("benchmarks.speed", reason="the benchmarks are not beside the tests")
page = pytest.importorskip("benchmarks.speed_page")


def entry(median, same=1.0, bleu=None):
    return {
        "tokens_per_second": {"median": median, "low": median - 1, "high": median + 1, "turns": 3},
        "same": same,
        "bleu": bleu,
    }


def decoding(model, beam, n, **entries):
    return {"model": model, "beam": beam, "n": n, "ratio": 2.0, "entries": entries}


FAST, SLOW = "prosector, int8, 1 thread", "prosector, int8, 2 threads"
THEIRS = "CTranslate2, int8, 2 workers"
LOGS = {
    "small": {"decoding": [decoding("small", 1, 32, **{FAST: entry(40.0), SLOW: entry(30.0), THEIRS: entry(20.0)})]},
    "base": {"decoding": []},
    "base-128": {"decoding": []},
    "shipped": {
        "decoding": [decoding("zh-en", 4, 1, **{FAST: entry(9.0, bleu=30.123), THEIRS: entry(3.0, bleu=29.0)})]
    },
}


def test_only_what_stands_between_the_marks_is_written():
    text = "before\n<!-- table: decoding -->\nold\n<!-- end -->\nbetween\n"
    text += "<!-- table: memory -->\nkept\n<!-- end -->\nafter\n"
    found, done = page.filled(text, LOGS)
    assert found.startswith("before\n<!-- table: decoding -->\n\n| model |")
    assert found.endswith("<!-- end -->\nbetween\n<!-- table: memory -->\nkept\n<!-- end -->\nafter\n")
    assert "old" not in found
    assert done == ["decoding: written", "memory: left as it is, memory not measured"]
    assert page.filled(found, LOGS)[0] == found


def test_a_row_of_decoding_has_each_at_its_best_the_aim_and_both_scores():
    head, rows = page.decoding(LOGS)
    assert rows == [
        ("small", "1", "32", "20 (19–21) 2 workers", "40 (39–41) 1 thread", "2.00", "1.9", ""),
        ("zh-en", "4", "1", "3 (2–4) 2 workers", "9 (8–10) 1 thread", "2.00", "", "30.12 / 29.00"),
    ]
    assert len(head) == len(rows[0])


def test_training_stands_side_by_side_with_each_allocator_and_ours_at_its_best():
    def at(value):
        return {"median": value, "low": value - 1, "high": value + 1, "turns": 1 if value < 10 else 3}

    rates = {"prosector, a": at(20.0), "prosector, a, tuned": at(30.0), "Marian": at(5.0), "Marian, tuned": at(15.0)}
    record = {"size": "small", "rates": rates, "ratio": 2.0, "ratios": {"as it is": 4.0, "tuned": 2.0}}
    head, rows = page.training({"training-small": {"training": [record]}})
    assert head[1:] == ("small", "small, allocator tuned")
    assert rows == [
        ("prosector, a", "20 (19–21)", "30 (29–31)"),
        ("Marian", "5", "15 (14–16)"),
        ["both with this allocator", "4.00 ×", "2.00 ×"],
        ["**ours against the best peer, each at its best**", "**2.00 ×**", ""],
    ]


def test_contenders_stand_side_by_side_the_fastest_first():
    def at(value):
        return Rate(value, value, value, 3)

    contests = {"one": {"a": at(1.0), "b": at(2.0)}, "two": {"b": at(3.0), "c": at(9.0)}}
    head, rows = page.side_by_side(contests)
    assert head == ("", "one", "two")
    assert rows == [("c", "", "9 (9–9)"), ("b", "2 (2–2)", "3 (3–3)"), ("a", "1 (1–1)", "")]


def test_a_table_of_another_name_is_an_error():
    with pytest.raises(ValueError, match=r"<!-- table: speeed -->: there are machine, commands, training"):
        page.filled("<!-- table: speeed -->\n<!-- end -->", {})


def test_the_page_is_what_the_files_say():
    """Nobody has changed a number of the page by hand."""
    text = speed.PAGE.read_text("utf-8")
    assert page.filled(text, speed.logs_of(speed.LOGS))[0] == text


def test_every_piece_is_told_without_this_machines_paths_and_run_with_them(tmp_path):
    [command] = [one for one in speed.PIECES["everybody"] if one.name == "everybody-base"]
    python = Path("elsewhere/bin/python")
    assert speed.told(command, python).endswith("--everybody --joeynmt …/bin/python")
    assert speed.told(command, None).endswith("--everybody")
    words = list(speed.arguments(command, python, tmp_path))
    assert words[1:4] == ["-m", "prosector.cli.main", "bench"]
    assert words[-2:] == ["--joeynmt", str(python.absolute())]
    assert "--joeynmt" not in list(speed.arguments(command, None, tmp_path))


def test_a_run_keeps_what_was_measured_with_its_command_and_commit(tmp_path, monkeypatch):
    script = tmp_path / "measures.py"
    script.write_text("import json, pathlib, sys\npathlib.Path(sys.argv[-1]).write_text(json.dumps({'found': 7}))\n")
    command = speed.Command("tiny", f"{script} --rounds 1", {"TUNED": "1"})
    monkeypatch.setitem(speed.PIECES, "tiny", [command])
    monkeypatch.setattr(speed, "git", lambda *words: "abc1234" if words[0] == "rev-parse" else " M src")
    speed.run(["tiny"], None, tmp_path / "logs")
    kept = json.loads((tmp_path / "logs/tiny.json").read_text("utf-8"))
    assert kept["found"] == 7
    assert kept["commit"] == "abc1234+"
    assert kept["command"].startswith("TUNED=1 .venv/bin/python benchmarks/")
