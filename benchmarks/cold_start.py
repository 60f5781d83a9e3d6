"""How long one waits: for a first translation from a cold start, and for a model to be loaded.

    .venv/bin/python benchmarks/cold_start.py [--rounds 5] [--json FILE]

Each start is a process of its own, by the native core and by PyTorch in turns, after one that fills the disk's cache.
Loading is told with PyTorch's import, and of a second model in the same process without.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "prosector.cli.main", "translate", "我喜欢深度学习。"]
STARTS = {"native core": COMMAND, "PyTorch": [*COMMAND, "--engine", "pytorch"]}
LOADING = """
import time
began = time.perf_counter()
import prosector
prosector.load("zh-en")
first = time.perf_counter()
prosector.load("en-zh")
print(first - began, time.perf_counter() - first)
"""


def seconds(command: list[str]) -> float:
    """Of one process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began


def loading() -> list[float]:
    """Seconds of the first model, and of a second one."""
    run = subprocess.run([sys.executable, "-c", LOADING], check=True, capture_output=True, text=True)
    return [float(number) for number in run.stdout.split()]


def measure(rounds: int) -> dict[str, list[float]]:
    """Seconds of each round, by what was waited for."""
    found: dict[str, list[float]] = {name: [] for name in (*STARTS, "load zh-en", "load en-zh after it")}
    for number in range(rounds + 1):
        taken = [*(seconds(command) for command in STARTS.values()), *loading()]
        for name, value in zip(found, taken, strict=True) if number else ():
            found[name].append(value)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="write all that was measured")
    options = parser.parse_args()
    found = measure(options.rounds)
    print("| | seconds, median (range) |\n|---|---|")
    for name, values in found.items():
        print(f"| {name} | {statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f}) |")
    if options.json:
        from prosector.bench.machine import described

        options.json.write_text(json.dumps({"machine": described(), "start": found}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
