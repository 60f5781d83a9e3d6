"""How long one decoding step takes with 32 and with 512 tokens written: a cache should make it nearly the same.

    .venv/bin/python benchmarks/cached_decoding.py [--threads 1] [--rounds 200] [--json FILE]

Prints, for 1 and 32 sentences at once, the median milliseconds of a step at both lengths with their quartiles,
their ratio, and beside it a step without the cache, which computes everything again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from prosector.bench.machine import described
from prosector.config.transformer import TransformerConfig
from prosector.models.transformer import Transformer


def milliseconds(step: Callable[[], object], rounds: int) -> list[float]:
    """The time of each of some calls, after a warm-up."""
    for _ in range(10):
        step()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return times


@torch.inference_mode()
def measure(model: Transformer, rows: int, length: int, rounds: int) -> tuple[list[float], list[float]]:
    """Steps with a cache of `length` tokens, and steps without one."""
    src = torch.randint(4, 8000, (rows, 25))
    tgt = torch.randint(4, 8000, (rows, length))
    memory, real = model.encode(src), src != 0
    cache = model.new_cache()
    model.decode(tgt[:, :-1], memory, real, cache)
    kept = cache.positions

    def cached() -> None:
        for kept_layer in cache.self_attention:  # take the last step back, so that each has the same length
            kept_layer.length = length - 1
        cache.positions = kept
        model.logits(model.decode(tgt[:, -1:], memory, real, cache))

    def uncached() -> None:
        model.logits(model.decode(tgt, memory, real)[:, -1:])

    return milliseconds(cached, rounds), milliseconds(uncached, max(rounds // 20, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", type=Path, help="write all that was measured")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = TransformerConfig().build().eval()  # d 256, 3 + 3 layers, ff 1,024, 4 heads, 8,000 words a side

    print(
        f"d 256, 3 + 3 layers, float32, {options.threads} thread(s), source of 25; "
        "milliseconds a step: median (quartiles)"
    )
    print("| sentences | length 32 | length 512 | ratio | 512 without cache |")
    print("|---|---|---|---|---|")
    records = []
    for rows in (1, 32):
        short, _ = measure(model, rows, 32, options.rounds)
        long, without = measure(model, rows, 512, options.rounds)
        quartiles = {"32": statistics.quantiles(short, n=4), "512": statistics.quantiles(long, n=4)}
        record = {"sentences": rows, "milliseconds": quartiles, "without": statistics.median(without)}
        records.append(record)
        print(row(record), flush=True)
    if options.json:
        found = {"machine": described(), "cached": records}
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def row(record: dict[str, Any]) -> str:
    """One line of the table."""
    (low, short, high), (least, long, most) = record["milliseconds"]["32"], record["milliseconds"]["512"]
    cells = f"{short:.2f} ({low:.2f}–{high:.2f}) | {long:.2f} ({least:.2f}–{most:.2f})"
    return f"| {record['sentences']} | {cells} | {long / short:.2f} | {record['without']:.1f} |"


if __name__ == "__main__":
    main()
