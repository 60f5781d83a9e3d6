"""Long lines: time against SDPA without a position, memory, a decoding step, a training step.

Attention is of one line, 8 heads of 64, float32, by the kernel "blockwise": positions' own work, forward, and backward.
The cases take turns; a ratio is one round's. The most memory that a case takes beyond its inputs is measured in a
process of its own, at the length and at half of it: growing linearly, it doubles. A decoding step is timed with and
without its attention; a training step is one pair of that length.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from prosector.attention import KERNELS, Mask, MultiHeadAttention, Scope
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.models.transformer import Transformer
from prosector.positions import AlibiPosition, Position, RotaryPosition, T5Position, YarnPosition
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer

HEADS, D_HEAD, WINDOW = 8, 64, 256
PLAIN, STEP = "SDPA, no position", "training step"
POSITIONS = ("rope", "alibi", "t5")  # of a decoding step
CAUSAL, BACK = Mask.causal(), Mask.window(WINDOW - 1, 0)
CASES: dict[str, tuple[Mask | None, Callable[[], Position]]] = {
    "none": (CAUSAL, Position),
    "RoPE": (CAUSAL, lambda: RotaryPosition(D_HEAD)),
    "YaRN": (CAUSAL, lambda: YarnPosition(D_HEAD)),
    "ALiBi": (CAUSAL, lambda: AlibiPosition(HEADS)),
    f"window of {WINDOW}": (BACK, Position),
    f"window of {WINDOW}, ALiBi": (BACK, lambda: AlibiPosition(HEADS)),
    "T5": (CAUSAL, lambda: T5Position(HEADS, bidirectional=False)),
    "T5, both ways": (None, lambda: T5Position(HEADS, bidirectional=True)),
    "ALiBi, both ways": (None, lambda: AlibiPosition(HEADS)),
}


# --- attention -------------------------------------------------------------------------------------------------------


def attention_of(case: str, length: int) -> tuple[Callable[[], Tensor], list[Tensor]]:
    """The forward pass of a case, and what gets gradients."""
    torch.manual_seed(1)
    query, key, value = leaves = [torch.randn(1, HEADS, length, D_HEAD, requires_grad=True) for _ in range(3)]
    if case == PLAIN:
        return lambda: F.scaled_dot_product_attention(query, key, value, is_causal=True), leaves
    mask, make = CASES[case]
    position, at, kernel = make(), torch.arange(length), KERNELS["blockwise"]

    def forward() -> Tensor:
        scope = Scope(at, at, mask, position, position.rotate, counted=True)
        return kernel(*scope.place(query, key), value, scope, None)

    return forward, [*leaves, *position.parameters()]


def timed(forward: Callable[[], Tensor], leaves: list[Tensor]) -> tuple[float, float]:
    """Seconds of the forward pass, and of both."""
    start = time.perf_counter()
    heads = forward()
    middle = time.perf_counter()
    torch.autograd.grad(heads, leaves, torch.ones_like(heads))
    return middle - start, time.perf_counter() - start


def times(length: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Each case's runs, in turns; the first round warms up."""
    cases = {case: attention_of(case, length) for case in (PLAIN, *CASES)}
    taken: dict[str, list[tuple[float, float]]] = {case: [] for case in cases}
    for number in range(rounds + 1):
        for case, what in cases.items():
            seconds = timed(*what)
            if number:
                taken[case].append(seconds)
    return taken


# --- memory ----------------------------------------------------------------------------------------------------------


def peak() -> int:
    """The most bytes that this process ever had in memory (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def training_step(length: int) -> None:
    """The small size on one pair of that many tokens a side."""
    torch.manual_seed(1)
    model = TransformerConfig(kernel="blockwise", tie="all").build().train()
    optimizer = build_optimizer(model, TrainingConfig())
    src, labels = torch.randint(4, 8000, (2, 1, length)).unbind()
    chunked_cross_entropy(model.hidden(src, labels), model.output.weight, labels, 0.1).backward()
    optimizer.step()


def memory_here(case: str, length: int) -> dict[str, float]:
    """Bytes and seconds of one run in this process, beyond its inputs; of the training step, all there is."""
    if case == STEP:
        start = time.perf_counter()
        training_step(length)
        return {"bytes": peak(), "seconds": time.perf_counter() - start}
    what = attention_of(case, length)
    timed(*attention_of(case, 64))  # what PyTorch loads at its first use
    before = peak()
    return {"seconds": timed(*what)[1], "bytes": peak() - before}


def memory_of(case: str, length: int, threads: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-m", __name__, case, str(length), str(threads)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


# --- decoding --------------------------------------------------------------------------------------------------------


def step_seconds(model: Transformer, length: int, rounds: int = 15) -> float:
    """Median of one more token after so many."""
    cache, memory = model.new_cache(), torch.zeros(1, 25, model.config.d_model)
    tgt = torch.randint(4, 8000, (1, length))
    model.decode(tgt[:, :-1], memory, cache=cache)
    kept, taken = cache.positions, []
    for _ in range(rounds):
        start = time.perf_counter()
        model.logits(model.decode(tgt[:, -1:], memory, cache=cache))
        taken.append(time.perf_counter() - start)
        cache.positions = kept  # take the step back, so that each has the same length
        for layer in cache.self_attention:
            layer.length = length - 1
    return statistics.median(taken)


@torch.inference_mode()
def decoding(position: Any, lengths: list[int]) -> dict[str, dict[int, float]]:
    """Seconds of a step at each length: the whole, and with attention left out."""
    torch.manual_seed(1)
    model = TransformerConfig(kernel="blockwise", position=position).build().eval()
    whole = {length: step_seconds(model, length) for length in lengths}
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = lambda query, *rest: query
    return {"step": whole, "without attention": {length: step_seconds(model, length) for length in lengths}}


# --- all of it -------------------------------------------------------------------------------------------------------


def run(length: int, threads: int, rounds: int = 3) -> dict[str, Any]:
    """Everything, for JSON.

    Args:
        length: tokens of the line.
        threads: that all may use.
        rounds: in which the cases take turns.
    """
    torch.set_num_threads(threads)
    memory = {c: [memory_of(c, n, threads) for n in (length, length // 2)] for c in (PLAIN, *CASES)}
    steps = [length // 16, length // 4, length]
    return {
        "length": length,
        "threads": threads,
        "times": times(length, rounds),
        "memory": memory,
        "decoding lengths": steps,
        "decoding": {position: decoding(position, steps) for position in POSITIONS},
        STEP: memory_of(STEP, length, threads),
    }


def main() -> None:
    """One case's memory, in this process."""
    case, length, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    print(json.dumps(memory_here(case, length)))


if __name__ == "__main__":
    main()
