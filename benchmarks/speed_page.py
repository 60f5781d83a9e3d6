"""The tables of results/speed.md and its figure, each from files of JSON alone.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; what it needs and does not find leaves it as it is.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from prosector.bench import report
from prosector.bench.figure import draw
from prosector.bench.rounds import Rate
from prosector.bench.training import TUNED

Logs = dict[str, dict[str, Any]]
Table = tuple[Sequence[str], list[Sequence[str]]]
MARKED = re.compile(r"(<!-- table: (.+?) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
TRAINING = ("training-small", "training-base")
DECODING = ("small", "base", "base-128", "shipped")
MADE_UP, SHIPPED = ("everybody-small", "everybody-base"), ("everybody-shipped",)
DRAWN = (*TRAINING, *MADE_UP, *SHIPPED, "tokenising")
AIMS = {  # × CTranslate2, by model, beam and sentences at once
    "small": {(1, 1): 3.5, (1, 32): 1.9, (1, 128): 1.5, (5, 1): 2.9, (5, 32): 1.6},
    "base": {(1, 1): 3.5, (1, 32): 1.6, (1, 128): 1.4, (5, 1): 3.0, (5, 32): 1.6},
}


def rate(value: Rate) -> str:
    """A median and its quartiles, if there were several turns."""
    return f"{value.median:,.0f}" + (f" ({value.low:,.0f}–{value.high:,.0f})" if value.turns > 1 else "")


def machine(logs: Logs) -> Table:
    """Where, when and from what each file was measured, beside what the machine could do then."""
    names = sorted({name for found in logs.values() for name in found.get("ceilings", {})})
    rows = []
    for name, found in logs.items():
        reached = (rate(Rate(**found["ceilings"][one])) if "ceilings" in found else "" for one in names)
        what = (found.get("date", ""), found.get("commit", ""), found["machine"]["processor"])
        rows.append((name, *what, str(found["machine"].get("threads", "")), *reached))
    return ("file", "date", "commit", "processor", "threads", *names), rows


def commands(logs: Logs) -> Table:
    """What each file was measured by."""
    return ("file", "command"), [(name, f"`{found['command']}`") for name, found in logs.items() if "command" in found]


def side_by_side(contests: dict[str, dict[str, Rate]]) -> Table:
    """Contenders down, contests across; who is fastest in the first contest is first."""
    order = sorted(
        chain(*contests.values()), key=lambda name: -max(c[name].median for c in contests.values() if name in c)
    )
    rows = [
        (name, *(rate(contest[name]) if name in contest else "" for contest in contests.values()))
        for name in dict.fromkeys(order)
    ]
    return ("", *contests), rows


def training(logs: Logs) -> Table:
    """Target tokens a second with each allocator, and ours against the best peer, each with the one that suits it."""
    contests: dict[str, dict[str, Rate]] = {}
    same, freely = ["both with this allocator"], ["**ours against the best peer, each at its best**"]
    for record in records(logs, TRAINING, "training"):
        rates = report.rates_of("training", record)
        for number, (kind, ratio) in enumerate(record["ratios"].items()):
            column = record["size"] + (", allocator tuned" if kind == "tuned" else "")
            contests[column] = {
                name.removesuffix(TUNED): found
                for name, found in rates.items()
                if name.endswith(TUNED) == (kind == "tuned")
            }
            same.append(f"{ratio:.2f} ×")
            freely.append("" if number else f"**{record['ratio']:.2f} ×**")
    head, rows = side_by_side(contests)
    return ("target tokens/s, median (quartiles)", *head[1:]), [*rows, same, freely]


def decoding(logs: Logs) -> Table:
    """Ours and CTranslate2, each at its best."""
    head = (
        "model",
        "beam",
        "sentences",
        "CTranslate2, tokens/s (quartiles), its best setting",
        "prosector",
        "×",
        "aim",
    )
    rows = []
    for record in records(logs, DECODING, "decoding"):
        rates = report.rates_of("decoding", record)
        theirs = max((name for name in rates if name.startswith("CTranslate2,")), key=lambda name: rates[name].median)
        ours = max((name for name in rates if name.startswith("prosector,")), key=lambda name: rates[name].median)
        cells = (f"{rate(rates[name])} {name.split(', ', 1)[1].removeprefix('int8, ')}" for name in (theirs, ours))
        key = record["model"], record["beam"], record["n"]
        bleu = [record["entries"][name]["bleu"] for name in (ours, theirs)]
        words = "" if None in bleu else " / ".join(f"{one:.2f}" for one in bleu)
        aim = AIMS.get(key[0], {}).get(key[1:])
        rows.append((*map(str, key), *cells, f"{record['ratio']:.2f}", f"{aim:g}" if aim else "", words))
    return (*head, "BLEU, ours / theirs"), rows


def shortlist(logs: Logs) -> Table:
    """The core with and without a shortlist, each at its best: speed and BLEU."""
    rows = []
    for record in records(logs, ("shipped",), "decoding"):
        rates = report.rates_of("decoding", record)
        plain = max((name for name in rates if name.startswith("prosector,")), key=lambda name: rates[name].median)
        for short in (name for name in rates if name.startswith("prosector with a shortlist")):
            gain = rates[short].median / rates[plain].median
            bleu = (f"{record['entries'][name]['bleu']:.2f}" for name in (plain, short))
            key = str(record["model"]), str(record["beam"]), str(record["n"])
            rows.append((*key, rate(rates[plain]), rate(rates[short]), f"{gain:.2f}", *bleu))
    head = ("model", "beam", "sentences", "all words, tokens/s", "shortlist, tokens/s", "×", "BLEU", "BLEU, shortlist")
    return head, rows


def scaling(logs: Logs) -> Table:
    """What the formulas of docs/scaling.md say a step takes, and what it takes."""
    rows = [
        (
            one["step"],
            f"{1e3 * one['computed']:,.1f}",
            f"{1e3 * one['measured']:,.1f}",
            f"{one['measured'] / one['computed']:.2f}",
        )
        for one in logs["scaling"]["scaling"]
    ]
    return ("step", "computed, ms", "measured, ms", "measured / computed"), rows


def everybody(files: Sequence[str]) -> Callable[[Logs], Table]:
    """All engines, tokens a second, and how often each writes what our float32 model writes."""

    def build(logs: Logs) -> Table:
        found = list(records(logs, files, "decoding"))
        contests = {report.bars("decoding", record).title: report.rates_of("decoding", record) for record in found}
        head, rows = side_by_side(contests)
        entries = [record["entries"] for record in found]
        told = []
        for row in rows:
            shares = sorted({f"{100 * one[row[0]]['same']:.0f}" for one in entries if row[0] in one}, key=int)
            told.append((*row, "–".join(dict.fromkeys((shares[0], shares[-1]))) + " %"))
        return ("tokens/s, median (quartiles)", *head[1:], "as float32"), told

    return build


def tokenising(logs: Logs) -> Table:
    """Characters a second."""
    found = list(records(logs, ("tokenising",), "tokenising"))
    head, rows = side_by_side({one["vocabulary"]: report.rates_of("tokenising", one) for one in found})
    shares = {row[0]: min(one["same"].get(row[0], 1.0) for one in found) for row in rows}
    told = [(*row, f"{100 * shares[row[0]]:.1f} %") for row in rows]
    return ("characters/s, median (quartiles)", *head[1:], "ids as ours"), told


def of_long(number: int) -> Callable[[Logs], Table]:
    """One of the tables of long lines."""

    def build(logs: Logs) -> Table:
        [record] = logs["long"]["long"]
        title, head, rows = report.long(record)[number]
        return (head[0] or title, *head[1:]), list(rows)

    return build


def cached(logs: Logs) -> Table:
    """A cached step, short and long, and one without a cache."""
    head = ("sentences", "length 32", "length 512", "ratio", "512 without cache")
    rows = []
    for record in logs["cached"]["cached"]:
        (low, short, high), (least, long, most) = record["milliseconds"]["32"], record["milliseconds"]["512"]
        cells = (f"{short:.2f} ({low:.2f}–{high:.2f})", f"{long:.2f} ({least:.2f}–{most:.2f})")
        rows.append((str(record["sentences"]), *cells, f"{long / short:.2f}", f"{record['without']:.1f}"))
    return head, rows


def memory(logs: Logs) -> Table:
    """What the native core holds on the way through many sentences."""
    rows = [(f"{one['sentences']:,}", f"{one['now']:.0f}", f"{one['most']:.0f}") for one in logs["memory"]["memory"]]
    return ("sentences", "MiB now", "MiB at most"), rows


def start(logs: Logs) -> Table:
    """A first translation, and loading."""
    found = logs["start"]["start"].items()
    rows = [(name, f"{statistics.median(one):.2f} ({min(one):.2f}–{max(one):.2f})") for name, one in found]
    return ("", "seconds, median (range)"), rows


TABLES: dict[str, tuple[tuple[str, ...], Callable[[Logs], Table]]] = {  # what each needs, and who builds it
    "machine": ((), machine),
    "commands": ((), commands),
    "training": (TRAINING, training),
    "decoding": (DECODING, decoding),
    "everybody, made up": (MADE_UP, everybody(MADE_UP)),
    "everybody, shipped": (SHIPPED, everybody(SHIPPED)),
    "shortlist": (("shipped",), shortlist),
    "scaling": (("scaling",), scaling),
    "tokenising": (("tokenising",), tokenising),
    "long": (("long",), of_long(0)),
    "long steps": (("long",), of_long(1)),
    "long training": (("long",), of_long(2)),
    "cached": (("cached",), cached),
    "memory": (("memory",), memory),
    "start": (("start",), start),
}


def records(logs: Logs, files: Sequence[str], kind: str) -> Iterator[dict[str, Any]]:
    """Those of a kind in some files."""
    for file in files:
        yield from logs.get(file, {}).get(kind, ())


def markdown(table: Table) -> str:
    """A table of Markdown, without columns that are empty."""
    title, head, rows = report.Table("", tuple(table[0]), [tuple(row) for row in table[1]]).told()
    told = [f"| {' | '.join(line)} |" for line in (head, *rows)]
    return "\n".join([told[0], "|---" * len(head) + "|", *told[1:], ""])


def filled(text: str, logs: Logs) -> tuple[str, list[str]]:
    """A page with its tables, and what was done with each.

    Raises:
        ValueError: there is no table of such a name.
    """
    done: list[str] = []

    def fill(found: re.Match[str]) -> str:
        opening, name, old, closing = found.groups()
        if name not in TABLES:
            raise ValueError(f"<!-- table: {name} -->: there are {', '.join(TABLES)}")
        needs, build = TABLES[name]
        if lacking := [file for file in needs if file not in logs]:
            done.append(f"{name}: left as it is, {', '.join(lacking)} not measured")
        elif not (table := build(logs))[1]:
            done.append(f"{name}: left as it is, the files say nothing of it")
        else:
            done.append(f"{name}: written")
            return f"{opening}\n{markdown(table)}\n{closing}"
        return f"{opening}{old}{closing}"

    return MARKED.sub(fill, text), done


def write_page(path: Path, logs: Logs) -> list[str]:
    """Write the tables into a page; what was done with each."""
    text, done = filled(path.read_text("utf-8"), logs)
    path.write_text(text, "utf-8")
    return done


def draw_page(path: Path, logs: Logs) -> None:
    """The figure of the page: whatever of DRAWN was measured; of translating, greedily and 32 at once alone."""
    contests = [
        report.bars(kind, record)
        for file in DRAWN
        for kind in report.KINDS
        for record in records(logs, [file], kind)
        if kind != "decoding" or (record["beam"], record["n"]) == (1, 32)
    ]
    if contests:
        draw(path, contests)
