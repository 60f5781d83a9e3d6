"""Checks on a GPU, each printed with what was found; run by gpu.sh. Exits with 1 if one fails.

Runs on a CPU too (`--device cpu`), where it checks itself.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from prosector.attention import KERNELS, Mask, Scope
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.decoding.greedy_search import greedy
from prosector.models.transformer import Transformer
from prosector.positions import AlibiPosition, Position, RotaryPosition
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision, matrix_products


def kernels_equal_the_arithmetic(device: torch.device) -> float:
    """The largest difference of any kernel from the written-out one, forward and (where there are any) gradients.

    Masks with an empty row, grouped keys, and a position of each kind: none, on the scores, on queries and keys.
    """
    worst = 0.0
    at = torch.arange(33, device=device)
    real = at < torch.tensor([[20], [0]], device=device)
    masks = (None, Mask.causal(), Mask.causal() & Mask.keys(real), Mask.window(3, 2) | Mask.prefix(4))
    positions = (Position(), AlibiPosition(4), RotaryPosition(64))
    for mask, position, kv_heads in itertools.product(masks, positions, (4, 2)):
        torch.manual_seed(1)
        sizes = (4, kv_heads, kv_heads)
        leaves = [torch.randn(2, heads, 33, 64, device=device, requires_grad=True) for heads in sizes]
        results: dict[str, list[Tensor]] = {}
        for name, kernel in KERNELS.items():
            backward = name != "flex" or device.type != "cpu"
            with torch.set_grad_enabled(backward):
                query, key, value = leaves if backward else [leaf.detach() for leaf in leaves]
                scope = Scope(at, at, mask, position.to(device).bias(at, at), position.rotate)
                out = kernel(*scope.place(query, key), value, scope, None)
            gradients = torch.autograd.grad(out.square().sum(), leaves) if backward else ()
            results[name] = [out.detach(), *gradients]
        for found in results.values():
            compared = zip(found, results["written-out"], strict=False)
            worst = max(worst, *((one - other).abs().max().item() for one, other in compared))
    return worst


def attention(
    name: str, mask: Mask, position: Position, device: torch.device, length: int, dtype: torch.dtype
) -> Callable[[], list[Tensor]]:
    """Attention of one line by a kernel, 8 heads of 64, and its gradients."""
    torch.manual_seed(1)
    query, key, value = leaves = [
        torch.randn(1, 8, length, 64, device=device, dtype=dtype, requires_grad=True) for _ in range(3)
    ]
    at, position = torch.arange(length, device=device), position.to(device)

    def run() -> list[Tensor]:
        scope = Scope(at, at, mask, position, position.rotate, counted=True)
        out = KERNELS[name](*scope.place(query, key), value, scope, None)
        return [out.detach(), *torch.autograd.grad(out.float().square().sum(), leaves)]

    return run


LONG: dict[str, tuple[Mask, Callable[[], Position]]] = {
    "causal": (Mask.causal(), Position),
    "causal, RoPE": (Mask.causal(), lambda: RotaryPosition(64)),
    "causal, ALiBi": (Mask.causal(), lambda: AlibiPosition(8)),
    "window of 256": (Mask.window(255, 0), Position),
    "window of 256, ALiBi": (Mask.window(255, 0), lambda: AlibiPosition(8)),
}


def long_lines_equal_sdpa(device: torch.device) -> float:
    """The largest difference of `blockwise` from `sdpa` over 1,100 tokens, several blocks and a part of one."""
    worst = 0.0
    for mask, make in LONG.values():
        found, expected = (
            attention(name, mask, make(), device, 1100, torch.float32)() for name in ("blockwise", "sdpa")
        )
        worst = max(worst, *((one - other).abs().max().item() for one, other in zip(found, expected, strict=True)))
    return worst


def milliseconds(run: Callable[[], object], device: torch.device, rounds: int = 10) -> float:
    """The median of some runs, after three that warm up."""
    taken = []
    for number in range(rounds + 3):
        start = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        if number > 2:
            taken.append(1e3 * (time.perf_counter() - start))
    return statistics.median(taken)


def say_long_lines(device: torch.device, length: int) -> None:
    """How long attention takes over a long line, forward and backward, by two kernels."""
    for case, (mask, make) in LONG.items():
        for dtype in (torch.float32, torch.bfloat16):
            times = {
                name: milliseconds(attention(name, mask, make(), device, length, dtype), device)
                for name in ("blockwise", "sdpa")
            }
            told = ", ".join(f"{name} {value:.2f} ms" for name, value in times.items())
            print(f"       {length:,} tokens, {case}, {str(dtype).removeprefix('torch.')}: {told}", flush=True)


def batch(device: torch.device, rows: int) -> tuple[Tensor, Tensor, Tensor]:
    """Source, decoder input and labels of made-up ids."""
    src = torch.randint(4, 8000, (rows, 28), device=device)
    labels = torch.randint(4, 8000, (rows, 28), device=device)
    return src, torch.cat([torch.full((rows, 1), 2, device=device), labels[:, :-1]], dim=1), labels


def steps(device: torch.device, precision: Precision, rows: int, n: int) -> tuple[Transformer, list[float]]:
    """A few training steps from one seed, and the seconds that each took."""
    torch.manual_seed(1)
    model = TransformerConfig().build().to(device).train()
    optimizer = build_optimizer(model, TrainingConfig())
    src, tgt_in, labels = batch(device, rows)
    seconds = []
    for _ in range(n):
        start = time.perf_counter()
        with matrix_products(precision, device):
            loss = chunked_cross_entropy(model.hidden(src, tgt_in), model.output.weight, labels, 0.1)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - start)
    return model, seconds


def repeats_itself(device: torch.device) -> float:
    """The largest difference between the weights of two runs with one seed."""
    one, other = (steps(device, "float32", 8, 5)[0] for _ in range(2))
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max((a - b).abs().max().item() for a, b in pairs)


def writes_the_same(device: torch.device) -> int:
    """How many of 16 greedy targets differ from those on the CPU."""
    model, _ = steps(torch.device("cpu"), "float32", 8, 5)
    src = torch.randint(4, 8000, (16, 12))
    here = greedy(model.eval(), src, max_length=20)
    there = greedy(copy.deepcopy(model).to(device), src.to(device), max_length=20)
    return sum(a.ids != b.ids for a, b in zip(here, there, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rows", type=int, default=512, help="pairs of a batch when timing")
    parser.add_argument("--length", type=int, default=8192, help="tokens of a line when timing")
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.manual_seed(1)
    failed = False
    checks: list[tuple[str, Callable[[torch.device], float], float]] = [
        ("kernels: largest difference from the arithmetic", kernels_equal_the_arithmetic, 2e-5),
        ("long lines: largest difference of blockwise from sdpa", long_lines_equal_sdpa, 1e-4),
        ("training: largest difference between two runs of one seed", repeats_itself, 0.0),
        ("greedy: targets of 16 that differ from the CPU's", writes_the_same, 0),
    ]
    for what, check, allowed in checks:
        found = check(device)
        failed |= found > allowed
        print(f"{'ok    ' if found <= allowed else 'FAILED'} {what}: {found:g} (at most {allowed:g})", flush=True)
    for precision in ("float32", "bf16"):
        _, seconds = steps(device, precision, options.rows, 12)
        rate = options.rows * 28 / statistics.median(seconds[4:])
        print(f"       training, d 256, 3 + 3 layers, {precision}: {rate:,.0f} target tokens/s", flush=True)
    say_long_lines(device, options.length)
    sys.exit(failed)


if __name__ == "__main__":
    main()
