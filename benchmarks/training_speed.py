"""Target tokens a second of a training step, ours beside torch.nn.Transformer, in one run.

    .venv/bin/python benchmarks/training_speed.py [--threads 2] [--rounds 8] [--precision auto]

d 256, 3 + 3 layers, feed-forward 1,024, 4 heads, 8,000 words; 128 pairs of 22 to 28 tokens; forward, backward and
AdamW; dropout 0.1, label smoothing 0.1, tied embeddings. They take turns; medians with the fastest and the slowest
step. Beside it the machine's own ceiling, a float32 and a bf16 matrix product of the feed-forward network's size.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.positions.sinusoidal import sinusoid
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision, matrix_products, resolve

WORDS, D_MODEL, LAYERS, D_FF, HEADS, PAIRS, LENGTH = 8000, 256, 3, 1024, 4, 128, 28
CPU = torch.device("cpu")


def sentences() -> tuple[Tensor, Tensor, Tensor, int]:
    """Source, decoder input and labels of one batch of made-up ids, and how many labels are real."""
    lengths = torch.randint(22, LENGTH + 1, (PAIRS,))
    lengths[0] = LENGTH
    real = torch.arange(LENGTH) < lengths[:, None]
    src = torch.randint(4, WORDS, (PAIRS, LENGTH)) * real
    labels = torch.randint(4, WORDS, (PAIRS, LENGTH)) * real
    tgt_in = torch.cat([torch.full((PAIRS, 1), 2), labels[:, :-1]], dim=1)
    return src, tgt_in, labels, int(real.sum())


class TorchTranslator(nn.Module):
    """torch.nn.Transformer with a tied table and the same sinusoid."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(WORDS, D_MODEL)
        self.core = nn.Transformer(D_MODEL, HEADS, LAYERS, LAYERS, D_FF, dropout=0.1, batch_first=True, norm_first=True)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("positions", sinusoid(torch.arange(LENGTH), D_MODEL).float())

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x = self.dropout(self.table(src) * D_MODEL**0.5 + self.positions)
        y = self.dropout(self.table(tgt) * D_MODEL**0.5 + self.positions)
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1)
        hidden = self.core(
            x, y, tgt_mask=causal, src_key_padding_mask=src == 0, memory_key_padding_mask=src == 0, tgt_is_causal=True
        )
        return F.linear(hidden, self.table.weight)


def training_step(model: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], float]:
    optimizer = build_optimizer(model, TrainingConfig(learning_rate=3e-4))

    def step() -> float:
        value = loss()
        optimizer.zero_grad(set_to_none=True)
        value.backward()
        optimizer.step()
        return value.item()

    return step


def ceiling(dtype: torch.dtype) -> float:
    """GFLOP/s of a matrix product of the feed-forward network's size."""
    x, weight = torch.randn(PAIRS * LENGTH, D_MODEL).to(dtype), torch.randn(D_FF, D_MODEL).to(dtype)
    times = []
    for _ in range(40):
        start = time.perf_counter()
        F.linear(x, weight)
        times.append(time.perf_counter() - start)
    return 2 * PAIRS * LENGTH * D_MODEL * D_FF / statistics.median(times) / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--precision", choices=["auto", "float32", "bf16"], default="auto")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="enable_nested_tensor")
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    src, tgt_in, labels, n_tokens = sentences()
    precision: Precision = options.precision

    steps: dict[str, Callable[[], float]] = {}
    for kernel in ("written-out", "sdpa"):
        ours = TransformerConfig(tie="all", kernel=kernel, dropout=0.1).build().train()

        def our_loss(ours: nn.Module = ours) -> Tensor:
            with matrix_products(precision, CPU):
                hidden = ours.hidden(src, tgt_in)
                return chunked_cross_entropy(hidden, ours.output.weight, labels, 0.1)

        steps[f"prosector, {kernel}"] = training_step(ours, our_loss)
    torch_model = TorchTranslator().train()

    def torch_loss() -> Tensor:
        with matrix_products(precision, CPU):
            logits = torch_model(src, tgt_in)
        flat = logits.float().reshape(-1, WORDS)
        return F.cross_entropy(flat, labels.reshape(-1), ignore_index=0, label_smoothing=0.1)

    steps["torch.nn.Transformer"] = training_step(torch_model, torch_loss)

    print(
        f"{options.threads} thread(s), {resolve(precision, CPU)}; ceilings: "
        f"{ceiling(torch.float32):.0f} GFLOP/s in float32, {ceiling(torch.bfloat16):.0f} in bf16"
    )
    times: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(options.rounds + 1):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    best = n_tokens / statistics.median(times["torch.nn.Transformer"])
    print("| implementation | target tokens/s, median (slowest–fastest) | × torch.nn |")
    print("|---|---|---|")
    for name, taken in times.items():
        rate = n_tokens / statistics.median(taken)
        print(
            f"| {name} | {rate:,.0f} ({n_tokens / max(taken):,.0f}–{n_tokens / min(taken):,.0f}) | {rate / best:.2f} |"
        )


if __name__ == "__main__":
    main()
