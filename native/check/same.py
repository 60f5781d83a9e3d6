"""Whether two runs found the same: python same.py ONE OTHER NAMES [KERNELS]

Both files hold lines as `check translate` prints them; with KERNELS, only those of that kind count. The words have to
be the same, and log p and score the same to a millionth. Exits with 1 if not.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

NEAR = 1e-6


class Line(NamedTuple):
    """A hypothesis: whose it is, its numbers, its words."""

    key: tuple[str, ...]
    numbers: tuple[float, float]
    ids: str


def lines_of(file: str, kernels: str) -> list[Line]:
    rows = [line.split("\t") for line in Path(file).read_text("utf-8").splitlines()]
    return [
        Line((*row[:4],), (float(row[4]), float(row[5])), row[6]) for row in rows if not kernels or row[0] == kernels
    ]


def differences(ones: list[Line], others: list[Line]) -> list[str]:
    """What differs, a line for each."""
    if not ones or len(ones) != len(others):
        return [f"{len(ones)} hypotheses and {len(others)}"]
    return [
        f"{' '.join(one.key)}: {one.numbers}{one.ids} | {other.numbers}{other.ids}"
        for one, other in zip(ones, others, strict=True)
        if one.key != other.key or one.ids != other.ids or apart(one, other) > NEAR
    ]


def apart(one: Line, other: Line) -> float:
    return max(abs(a - b) for a, b in zip(one.numbers, other.numbers, strict=True))


def main() -> int:
    kernels = sys.argv[4] if len(sys.argv) > 4 else ""
    ones, others = lines_of(sys.argv[1], kernels), lines_of(sys.argv[2], kernels)
    found = differences(ones, others)
    if found:
        print(f"{sys.argv[3]} differ in {len(found)} of {len(ones)} hypotheses:", *found[:10], sep="\n  ")
        return 1
    most = max(apart(one, other) for one, other in zip(ones, others, strict=True))
    whose = f"{sys.argv[3]}{kernels and ', ' + kernels}"
    print(f"{whose}: {len(ones)} hypotheses, the same words, log p within {most:.2g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
