"""Records become tables and bars: numbers that one can check by hand."""

import json
from pathlib import Path

import pytest
from matplotlib import pyplot

from prosector.bench import report
from prosector.bench.figure import draw
from prosector.bench.long import PLAIN, STEP

LOGS = Path(__file__).parents[2] / "results/logs/bench"


def rate(median, low=None, high=None):
    return {"median": median, "low": low or median, "high": high or median, "turns": 3}


TRAINING = {
    "size": "small",
    "gflop": 0.5,
    "ratio": 2.0,
    "losses": {"prosector, sdpa, bf16": 9.0, "JoeyNMT, bf16": 9.0, "JoeyNMT, float32": 9.0004},
    "weights": {"prosector, sdpa, bf16": "ours", "JoeyNMT, bf16": "ours", "JoeyNMT, float32": "ours"},
    "rates": {
        "JoeyNMT, float32": rate(500.0),
        "prosector, sdpa, bf16": rate(2000.0, 1900.0, 2100.0),
        "JoeyNMT, bf16": rate(1000.0),
    },
}
LONG = {
    "length": 8192,
    "threads": 2,
    "times": {PLAIN: [[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]], "RoPE": [[2.0, 4.0], [2.0, 6.0], [3.0, 8.0]]},
    "memory": {case: [{"bytes": 100e6, "seconds": 1}, {"bytes": 40e6, "seconds": 1}] for case in (PLAIN, "RoPE")},
    "decoding lengths": [512],
    "decoding": {"rope": {"step": {"512": 0.0042}}},
    STEP: {"bytes": 1.74e9, "seconds": 31.52},
}


def test_a_table_of_training_is_ordered_and_relative_to_the_best_peer():
    [table] = report.tables("training", TRAINING)
    assert table.title == "small: ours is 2.00 × as fast as the best peer"
    assert table.rows == [
        ("prosector, sdpa, bf16", "2,000 (1,900 to 2,100)", "2.00 ×", "1,000", "9.000", "ours"),
        ("JoeyNMT, bf16", "1,000 (1,000 to 1,000)", "1.00 ×", "500", "9.000", "ours"),
        ("JoeyNMT, float32", "500 (500 to 500)", "0.50 ×", "250", "9.000", "ours"),
    ]


def test_a_ratio_of_long_lines_is_one_rounds():
    lines, steps, step = report.tables("long", LONG)
    assert lines.rows[1] == (
        *("RoPE", "2.000 (2.000–3.000)", "1.00 (1.00–2.00)", "6.000 (4.000–8.000)", "1.50 (1.00–2.00)"),
        *("100", "40", "2.50"),
    )
    assert steps.rows == [("rope, step", "4.20")]
    assert step.rows == [("1.74", "31.5")]


def test_a_column_that_says_nothing_is_left_out():
    table = report.Table("", ("a", "b", "c"), [("1", "", ""), ("2", "", "x")])
    assert table.told() == ("", ("a", "c"), [("1", ""), ("2", "x")])


@pytest.mark.parametrize("file", sorted(LOGS.glob("*.json")), ids=lambda file: file.stem)
def test_every_record_that_is_kept_can_be_told(file):
    figures = json.loads(file.read_text("utf-8"))
    kinds = [kind for kind in report.KINDS if kind in figures]
    for kind in kinds:
        for record in figures[kind]:
            bars = report.bars(kind, record)
            assert all(rate.low <= rate.median <= rate.high for rate in bars.rates.values())
            for table in report.tables(kind, record):
                assert {len(row) for row in table.rows} == {len(table.head)}


def test_a_figure_shows_every_contest_and_its_quartiles(tmp_path, monkeypatch):
    file, drawn, close = tmp_path / "speed.png", [], pyplot.close
    monkeypatch.setattr(pyplot, "close", drawn.append)
    draw(file, [report.bars("training", TRAINING), report.bars("long", LONG), report.bars("training", TRAINING)])
    first, second, third = drawn[0].axes
    assert [first.get_title(), second.get_title()] == ["training, small", "8,192 tokens, forward and backward"]
    assert [bar.get_width() for bar in first.patches] == [2000.0, 1000.0, 500.0]
    [whiskers] = [line.get_segments() for line in first.collections]
    assert [tuple(ends[:, 0]) for ends in whiskers] == [(1900.0, 2100.0), (1000.0, 1000.0), (500.0, 500.0)]
    assert first.patches[0].get_facecolor() != first.patches[1].get_facecolor() == first.patches[2].get_facecolor()
    assert file.read_bytes().startswith(b"\x89PNG")
    close(drawn[0])


@pytest.mark.parametrize(("suffix", "begins"), [("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_a_figure_has_the_format_of_its_name(tmp_path, suffix, begins):
    file = tmp_path / f"speed.{suffix}"
    draw(file, [report.bars("training", TRAINING)])
    assert file.read_bytes().startswith(begins)
