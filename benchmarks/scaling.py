"""Do the formulas of docs/scaling.md tell the time? Ceilings are measured; a step is computed from them, and timed.

    .venv/bin/python benchmarks/scaling.py [--threads 2] [--rounds 5] [--cpu-time] [--json FILE]

Ceilings: matrix products of the feed-forward network's size and of a head's, in float32 and bf16; adding two large
tensors; products of a few rows by as many weights as a step has, and one query's attention to as many keys; and a call
of PyTorch with the Python around it, from a model too narrow to compute anything. Training: each kind of operations /
its products + bytes / memory. Decoding: products of so few rows, the cache, and as many calls as PyTorch counts, one
after the other. `--cpu-time` counts this process's own seconds (with one thread), for a machine that is busy.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from prosector.bench.machine import described
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.evaluation.cost import Machine, cache_bytes, step_operations
from prosector.evaluation.scaling import training_seconds
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision, matrix_products

CPU = torch.device("cpu")
SMALL = TransformerConfig(tie="all", kernel="written-out")
BASE = TransformerConfig(
    tie="all", kernel="written-out", d_model=512, n_heads=8, d_ff=2048, encoder_layers=6, decoder_layers=6
)
clock = time.perf_counter


def median_seconds(work: Callable[[], object], rounds: int, before: Callable[[], object] = lambda: None) -> float:
    """Of one call, after a warm-up; what comes before each is not counted."""
    work()
    taken = []
    for _ in range(rounds):
        before()
        start = clock()
        work()
        taken.append(clock() - start)
    return statistics.median(taken)


def product_rate(config: TransformerConfig, tokens: int, dtype: torch.dtype, rounds: int) -> float:
    """Operations a second of x Wᵀ, of the feed-forward network's size."""
    x = torch.randn(tokens, config.d_model).to(dtype)
    weight = torch.randn(config.d_ff, config.d_model).to(dtype)
    return 2 * tokens * weight.numel() / median_seconds(lambda: F.linear(x, weight), 4 * rounds)


def memory_rate(rounds: int) -> float:
    """Bytes a second of adding two tensors of 64 MB: two are read, one is written."""
    a, b, out = (torch.ones(16_000_000) for _ in range(3))
    return 3 * 64e6 / median_seconds(lambda: torch.add(a, b, out=out), 4 * rounds)


def attention_rate(config: TransformerConfig, rows: int, length: int, dtype: torch.dtype, rounds: int) -> float:
    """Operations a second of one head's Q Kᵀ and weights · V, for all heads and rows at once."""
    heads, d_head = rows * config.n_heads, config.d_model // config.n_heads
    query = torch.randn(heads, length, d_head).to(dtype)
    seconds = median_seconds(lambda: query @ query.transpose(1, 2) @ query, 4 * rounds)
    return 4 * heads * length * length * d_head / seconds


def step_rates(config: TransformerConfig, rows: int, written: int, rounds: int) -> tuple[float, float]:
    """Operations a second of x Wᵀ for a step's few rows; bytes of keys and values a second of one query's attention.

    Layer by layer, as many of both as a step has, so that each is read from where it would be.
    """
    heads, d_head, layers = rows * config.n_heads, config.d_model // config.n_heads, config.decoder_layers
    x, query, mix = torch.randn(rows, config.d_model), torch.randn(heads, 1, d_head), torch.randn(heads, 1, written)
    matrices = round(step_operations(config, 0, -1) / 2 / layers / config.d_ff / config.d_model)
    weights = torch.randn(layers, matrices, config.d_ff, config.d_model)
    kept = torch.randn(layers, 2, heads, 2 * written, d_head)[..., :written, :]  # a cache has room for more
    of_products, of_attention = [], []
    for _ in range(4 * rounds + 1):
        products = attention = 0.0
        for layer, (keys, values) in zip(weights, kept, strict=True):
            start = clock()
            for matrix in layer:
                F.linear(x, matrix)
            between = clock()
            torch.bmm(query, keys.transpose(1, 2))
            torch.bmm(mix, values)
            products, attention = products + between - start, attention + clock() - between
        of_products.append(2 * rows * weights.numel() / products)
        of_attention.append(4 * kept.numel() / attention)
    return statistics.median(of_products[1:]), statistics.median(of_attention[1:])


def call_seconds(rows: int, rounds: int) -> float:
    """Of one call and the Python around it: a step of a model of 8 features, by its number of calls.

    Before each, 64 MB go through the caches, as weights do between a real step's calls; it raises the price.
    """
    narrow = TransformerConfig(tie="all", d_model=8, n_heads=1, d_ff=8, source_vocab=50, target_vocab=50)
    others = torch.ones(16_000_000)
    seconds, calls = decode(narrow, rows, 4, rounds, others.sum)
    return seconds / calls


def train(config: TransformerConfig, rows: int, length: int, precision: Precision, rounds: int) -> float:
    """Seconds of a training step."""
    model = config.build().train()
    optimizer = build_optimizer(model, TrainingConfig())
    src, labels = torch.randint(4, 8000, (2, rows, length)).unbind()

    def step() -> None:
        with matrix_products(precision, CPU):
            loss = chunked_cross_entropy(model.hidden(src, labels), model.output.weight, labels, 0.1)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    return median_seconds(step, rounds)


class Calls(TorchDispatchMode):
    """How many operations PyTorch is asked for."""

    number = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.number += 1
        return function(*arguments, **(options or {}))


@torch.no_grad()
def decode(
    config: TransformerConfig, rows: int, written: int, rounds: int, before: Callable[[], object] = lambda: None
) -> tuple[float, int]:
    """Seconds of one more token after so many, and calls of it."""
    model = config.build().eval()
    memory, cache = torch.randn(rows, 25, config.d_model), model.new_cache()
    tgt = torch.randint(4, config.target_vocab, (rows, written + 1))
    model.decode(tgt[:, :-1], memory, cache=cache)
    kept = cache.positions

    def step() -> None:
        cache.positions = kept
        for layer in cache.self_attention:
            layer.length = written
        model.logits(model.decode(tgt[:, -1:], memory, cache=cache))

    with Calls() as calls:
        step()
    return median_seconds(step, 4 * rounds, before), calls.number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--json", type=Path, help="write all that was measured")
    options = parser.parse_args()
    torch.manual_seed(1)
    torch.set_num_threads(options.threads)
    if options.cpu_time:
        global clock
        clock = time.process_time
    rounds = options.rounds

    memory, call = memory_rate(rounds), {rows: call_seconds(rows, rounds) for rows in (1, 32)}
    prices = " and ".join(f"{price * 1e6:.1f}" for price in call.values())
    print(f"{options.threads} thread(s); memory {memory / 1e9:.1f} GB/s, a call {prices} µs (1 and 32 rows)\n")
    print("| step | products, GFLOP/s | computed, ms | measured, ms | measured / computed |")
    print("|---|---|---|---|---|")

    records = []

    def row(name: str, rate: float, computed: float, measured: float) -> None:
        records.append({"step": name, "products": rate, "computed": computed, "measured": measured})
        cells = f"{rate / 1e9:.0f} | {1e3 * computed:.2f} | {1e3 * measured:.2f} | {measured / computed:.2f}"
        print(f"| {name} | {cells} |", flush=True)

    for name, config, pairs, length in (("small", SMALL, 128, 28), ("small", SMALL, 8, 512), ("base", BASE, 80, 28)):
        for precision, dtype in (("float32", torch.float32), ("bf16", torch.bfloat16)):
            rate = product_rate(config, pairs * length, dtype, rounds)
            heads = attention_rate(config, pairs, length, dtype, rounds)
            computed = training_seconds(config, Machine(rate, memory), pairs, length, length, heads)
            measured = train(config, pairs, length, precision, rounds)  # type: ignore[arg-type]
            row(f"train {name}, {pairs} × {length}, {precision}", rate, computed, measured)
    for name, config in (("small", SMALL), ("base", BASE)):
        for rows in call:
            rate, reading = step_rates(config, rows, 126, rounds)
            measured, calls = decode(config, rows, 100, rounds)
            maps, kept = step_operations(config, 0, -1), rows * cache_bytes(config, 25, 101)
            computed = rows * maps / rate + kept / reading + calls * call[rows]
            row(f"decode {name}, {rows} rows, {calls} calls", rate, computed, measured)
    if options.json:
        found = {"machine": described(), "bytes a second": memory, "seconds of a call": call, "scaling": records}
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
