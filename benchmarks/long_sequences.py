"""Long lines: time against SDPA without a position, memory, a decoding step, a training step.

    .venv/bin/python benchmarks/long_sequences.py [--length 8192] [--rounds 3] [--threads 2] [--out long.json]

Attention is of one line, 8 heads of 64, float32, by the kernel "blockwise": positions' own work, forward, and backward.
The cases take turns; a ratio is one round's, and its median and range are printed. The most memory that a case takes
beyond its inputs is measured in a process of its own, at the length and at half of it: growing linearly, it doubles.
A decoding step is timed with and without its attention; a training step is one pair of that length. It takes less than
five minutes on two free cores; `--length 1024` a few seconds.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


def run(forward: Callable[[], Tensor], leaves: list[Tensor]) -> tuple[float, float]:
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
            seconds = run(*what)
            if number:
                taken[case].append(seconds)
        print(f"round {number} of {rounds}", file=sys.stderr)
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
    run(*attention_of(case, 64))  # what PyTorch loads at its first use
    before = peak()
    return {"seconds": run(*what)[1], "bytes": peak() - before}


def memory_of(case: str, length: int, threads: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--memory-of", case, "--length", str(length), "--threads", str(threads)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


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
def decoding(position: str, lengths: list[int]) -> dict[str, dict[int, float]]:
    """Seconds of a step at each length: the whole, and with attention left out."""
    torch.manual_seed(1)
    model = TransformerConfig(kernel="blockwise", position=position).build().eval()
    whole = {length: step_seconds(model, length) for length in lengths}
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.kernel = lambda query, *rest: query
    return {"step": whole, "without attention": {length: step_seconds(model, length) for length in lengths}}


# --- the report ------------------------------------------------------------------------------------------------------


def spread(values: list[float], digits: int = 2) -> str:
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def report(found: dict) -> None:
    length = found["length"]
    print(f"{length:,} tokens, {HEADS} heads of {D_HEAD}, float32, {found['threads']} thread(s), {found['torch']}\n")
    print("| case | forward, s | × SDPA | both, s | × SDPA | memory, MB | half the length, MB | growth |")
    print("|---|---|---|---|---|---|---|---|")
    for case, runs in found["times"].items():
        cells = []
        for part in (0, 1):
            own = [seconds[part] for seconds in runs]
            plain = [seconds[part] for seconds in found["times"][PLAIN]]
            cells += [spread(own, 3), spread([a / b for a, b in zip(own, plain, strict=True)])]
        whole, half = (memory["bytes"] / 1e6 for memory in found["memory"][case])
        print(f"| {case} | {' | '.join(cells)} | {whole:.0f} | {half:.0f} | {whole / half:.2f} |")
    print("\n| a decoding step, ms | " + " | ".join(f"{n:,} tokens" for n in found["decoding lengths"]) + " |")
    print("|---" * (1 + len(found["decoding lengths"])) + "|")
    for position, parts in found["decoding"].items():
        for part, steps in parts.items():
            print(f"| {position}, {part} | " + " | ".join(f"{1e3 * seconds:.2f}" for seconds in steps.values()) + " |")
    step = found[STEP]
    print(
        f"\nA training step of the small size (d 256, 3 + 3 layers, 8,000 words) on one pair of {length:,} tokens: "
        f"{step['bytes'] / 1e9:.2f} GB in all, {step['seconds']:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, help="write all that was measured as JSON")
    parser.add_argument("--memory-of", choices=[PLAIN, *CASES, STEP], help="one case, in this process")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    length = options.length
    if options.memory_of:
        print(json.dumps(memory_here(options.memory_of, length)))
        return

    memory = {c: [memory_of(c, n, options.threads) for n in (length, length // 2)] for c in (PLAIN, *CASES)}
    steps = [length // 16, length // 4, length]
    found = {
        "length": length,
        "threads": options.threads,
        "torch": f"PyTorch {torch.__version__}",
        "machine": platform.processor() or platform.machine(),
        "times": times(length, options.rounds),
        "memory": memory,
        "decoding lengths": steps,
        "decoding": {position: decoding(position, steps) for position in ("rope", "alibi", "t5")},
        STEP: memory_of(STEP, length, options.threads),
    }
    if options.out:
        options.out.write_text(json.dumps(found, indent=1) + "\n")
    report(found)


if __name__ == "__main__":
    main()
