"""Does the native core's memory stay level? 100,000 sentences translated, and what the process holds on the way.

    .venv/bin/python benchmarks/native_memory.py LINES.txt [--sentences 100000] [--json FILE]

The lines of the file are translated again and again, greedily, 1,000 at a time. Linux.
"""

from __future__ import annotations

import argparse
import itertools
import json
import resource
import time
from pathlib import Path

from prosector.decoding.installed import find_model
from prosector.decoding.native import NativeTranslator

AT_ONCE = 1000


def mebibytes() -> tuple[float, float]:
    """What the process holds now, and the most that it ever held."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize() / 2**20, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--json", type=Path, help="write all that was measured")
    options = parser.parse_args()
    lines = itertools.cycle(options.file.read_text("utf-8").splitlines())
    translator = NativeTranslator.load(find_model("zh-en"))
    began, done, records = time.perf_counter(), 0, []
    print("| sentences | MiB now | MiB at most | seconds |\n|---|---|---|---|")
    while done < options.sentences:
        translator.translate(list(itertools.islice(lines, AT_ONCE)), beam=1)
        done += AT_ONCE
        if done in (1_000, 2_000, 5_000, 10_000, 20_000, 50_000) or done == options.sentences:
            now, most = mebibytes()
            record = {"sentences": done, "now": now, "most": most, "seconds": time.perf_counter() - began}
            records.append(record)
            print(f"| {done:,} | {now:.0f} | {most:.0f} | {record['seconds']:.0f} |", flush=True)
    if options.json:  # described imports PyTorch, which would count
        from prosector.bench.machine import described

        options.json.write_text(json.dumps({"machine": described(), "memory": records}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
