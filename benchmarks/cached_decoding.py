"""How long one decoding step takes with 32 and with 512 tokens written: a cache should make it nearly the same.

    .venv/bin/python benchmarks/cached_decoding.py [--threads 1] [--rounds 200]

Prints, for 1 and 32 sentences at once, the median milliseconds of a step at both lengths with their quartiles,
their ratio, and beside it a step without the cache, which computes everything again.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

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
    for rows in (1, 32):
        short, _ = measure(model, rows, 32, options.rounds)
        long, without = measure(model, rows, 512, options.rounds)
        cells = []
        for times in (short, long):
            low, middle, high = statistics.quantiles(times, n=4)
            cells.append(f"{middle:.2f} ({low:.2f}–{high:.2f})")
        ratio = statistics.median(long) / statistics.median(short)
        print(f"| {rows} | {cells[0]} | {cells[1]} | {ratio:.2f} | {statistics.median(without):.1f} |", flush=True)


if __name__ == "__main__":
    main()
