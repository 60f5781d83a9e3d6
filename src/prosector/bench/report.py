"""What was measured, for people: records, as JSON keeps them, to tables and bars.

A record is told by these functions alone, on the screen, on a page or in a figure, whoever measured it and when.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from prosector.bench.long import PLAIN, STEP
from prosector.bench.rounds import Rate

Record = Mapping[str, Any]
KINDS = ("training", "decoding", "tokenising", "long")
OURS = "prosector"
SPREAD = "median (quartiles)"


class Table(NamedTuple):
    """A title, and rows with a head; a column that says nothing is left out by `told`."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def told(self) -> Table:
        """Without columns that are empty in every row."""
        kept = [number for number in range(len(self.head)) if any(row[number] for row in self.rows)]
        rows = [tuple(row[number] for number in kept) for row in self.rows]
        return Table(self.title, tuple(self.head[number] for number in kept), rows)


class Bars(NamedTuple):
    """A contest as a figure: who reached what."""

    title: str
    unit: str
    rates: dict[str, Rate]


def is_ours(name: str) -> bool:
    """Whether a contender is one of ours."""
    return name.startswith(OURS)


def rates_of(kind: str, record: Record) -> dict[str, Rate]:
    """Of every contender, the fastest first."""
    if kind == "decoding":
        found = {name: Rate(**entry["tokens_per_second"]) for name, entry in record["entries"].items()}
    else:
        found = {name: Rate(**rate) for name, rate in record["rates"].items()}
    return dict(sorted(found.items(), key=lambda item: -item[1].median))


def best(rates: Mapping[str, Rate], ours: bool) -> str:
    """The fastest of ours, or of the others, by its name."""
    return max((name for name in rates if is_ours(name) == ours), key=lambda name: rates[name].median)


def tables(kind: str, record: Record) -> list[Table]:
    """All tables of a record of a kind."""
    return {"decoding": decoding, "training": training, "tokenising": tokenising, "long": long}[kind](record)


def bars(kind: str, record: Record) -> Bars:
    """The figure of a record of a kind."""
    if kind == "long":
        return Bars(f"{record['length']:,} tokens, forward and backward", "seconds", seconds(record))
    titles = {
        "decoding": lambda: f"{record['model']}, beam {record['beam']}, {record['n']} at once",
        "training": lambda: f"training, {record['size']}",
        "tokenising": lambda: f"cutting up {record['vocabulary']}",
    }
    units = {"decoding": "tokens/s", "training": "target tokens/s", "tokenising": "characters/s"}
    return Bars(titles[kind](), units[kind], rates_of(kind, record))


def decoding(record: Record) -> list[Table]:
    """Who writes how many tokens a second, against CTranslate2's best."""
    rates, entries = rates_of("decoding", record), record["entries"]
    theirs = max(rate.median for name, rate in rates.items() if name.startswith("CTranslate2,"))
    rows = [
        (
            name,
            str(rate),
            f"{rate.median / theirs:.2f} ×",
            f"{100 * entries[name]['same']:.0f} %",
            "" if entries[name]["bleu"] is None else f"{entries[name]['bleu']:.2f}",
        )
        for name, rate in rates.items()
    ]
    title = f"{record['model']}, beam {record['beam']}, {record['n']} at once: "
    title += f"ours is {record['ratio']:.2f} × as fast as CTranslate2"
    return [Table(title, ("", f"tokens/s, {SPREAD}", "× best of CTranslate2", "as float32", "BLEU"), rows)]


def training(record: Record) -> list[Table]:
    """Who learns from how many target tokens a second, against the best peer."""
    rates, weights = rates_of("training", record), record.get("weights", {})
    theirs = rates[best(rates, ours=False)].median
    rows = [
        (
            name,
            str(rate),
            f"{rate.median / theirs:.2f} ×",
            f"{rate.median * record['gflop']:,.0f}",
            f"{record['losses'][name]:.3f}",
            weights.get(name, ""),
        )
        for name, rate in rates.items()
    ]
    title = f"{record['size']}: ours is {record['ratio']:.2f} × as fast as the best peer"
    head = ("", f"target tokens/s, {SPREAD}", "× best peer", "GFLOP/s", "untrained loss", "weights")
    return [Table(title, head, rows)]


def tokenising(record: Record) -> list[Table]:
    """Who reads how many characters a second, against the best peer."""
    rates = rates_of("tokenising", record)
    theirs = rates[best(rates, ours=False)].median
    rows = [
        (name, str(rate), f"{rate.median / theirs:.2f} ×", f"{100 * record['same'][name]:.1f} %")
        for name, rate in rates.items()
    ]
    title = (
        f"{record['vocabulary']}, {record['n']:,} sentences: ours is {record['ratio']:.2f} × as fast as the best peer"
    )
    return [Table(title, ("", f"characters/s, {SPREAD}", "× best peer", "ids as ours"), rows)]


def long(record: Record) -> list[Table]:
    """Attention of a long line, a decoding step behind it, a training step of it."""
    title = f"{record['length']:,} tokens, {record['threads']} thread(s): median (range)"
    head = ("case", "forward, s", "× SDPA", "both, s", "× SDPA", "memory, MB", "half the length, MB", "growth")
    plain, rows = record["times"][PLAIN], []
    for case, runs in record["times"].items():
        cells = [case]
        for part in (0, 1):
            own = [run[part] for run in runs]
            cells += [spread(own, 3), spread([a / b[part] for a, b in zip(own, plain, strict=True)], 2)]
        whole, half = (memory["bytes"] / 1e6 for memory in record["memory"][case])
        rows.append((*cells, f"{whole:.0f}", f"{half:.0f}", f"{whole / half:.2f}" if half else "–"))
    steps = [
        (f"{position}, {part}", *(f"{1e3 * found:.2f}" for found in times.values()))
        for position, parts in record["decoding"].items()
        for part, times in parts.items()
    ]
    lengths = (f"{n:,} tokens" for n in record["decoding lengths"])
    step = (f"{record[STEP]['bytes'] / 1e9:.2f}", f"{record[STEP]['seconds']:.1f}")
    return [
        Table(title, head, rows),
        Table("one decoding step, ms", ("", *lengths), steps),
        Table("a training step of the small size on one such pair", ("GB in all", "s"), [step]),
    ]


def spread(values: Sequence[float], digits: int) -> str:
    """Median and range."""
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def seconds(record: Record) -> dict[str, Rate]:
    """Of each case of long lines: forward and backward."""
    found = {}
    for case, runs in record["times"].items():
        low, middle, high = statistics.quantiles([both for _, both in runs], n=4, method="inclusive")
        found[case] = Rate(middle, low, high, len(runs))
    return found
