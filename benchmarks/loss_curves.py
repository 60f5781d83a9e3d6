"""Does what makes training fast change what is learned? The fast implementation against the plain one, loss by loss.

    .venv/bin/python benchmarks/loss_curves.py run
    .venv/bin/python benchmarks/loss_curves.py show

`run` trains the small size on real pairs (`PROSECTOR_DATA` names their folder), three seeds each, on one core:

- *fast*: as `prosector train` does on this machine, with bf16 products, cross-entropy by chunks, dropout by bytes, and
  without padding;
- *plain*: float32 throughout, the logits of the whole batch at once, PyTorch's own dropout and attention, with padding.

Both get the same data, first weights and number of steps (STEPS, six minutes of the fast one). A JSON file a run holds
the loss of every step, and the development loss at the end. `show` makes the table and the figure of them.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.attention import Dropout, Heads, Scope, functional
from prosector.attention.packing import without_padding
from prosector.bench.contest import SIZES
from prosector.cli.trial import begun, with_steps
from prosector.config.run import read_run
from prosector.data.batching import Batch
from prosector.data.corpus import PRESETS
from prosector.models.seq2seq import Seq2Seq
from prosector.training.loop import Loop
from prosector.training.loss import label_smoothed_cross_entropy
from prosector.training.report import LineReporter
from prosector.training.run import prepare
from prosector.training.translation import TranslationTask

STEPS = 300
SMALL = [f"model.{name}={value}" for name, value in SIZES["small"].items()]
SETTINGS = ["model.dropout=0.1", "tokenizer.vocab_size=8000", "training.learning_rate=1e-3", "training.threads=1"]
PRECISIONS = {"fast": "bf16", "plain": "float32"}
LAST = 50  # steps whose mean is told


class PlainTask(TranslationTask):
    """The same batches; the logits of all their tokens exist at once."""

    def loss(self, model: Seq2Seq, batch: Batch, size: int) -> Tensor:
        with without_padding(False):
            logits = model.output(model.hidden(batch.src, batch.tgt_in))
        return label_smoothed_cross_entropy(logits, batch.labels, self.smoothing)


class PlainDropout(Dropout):
    """PyTorch's own."""

    def forward(self, x: Tensor) -> Tensor:
        return F.dropout(x, self.p, self.training)

    def onto(self, x: Tensor, y: Tensor) -> Tensor:
        return x + self(y)


def made_plain(model: nn.Module) -> None:
    """Put PyTorch's own dropout in the place of ours, and attention as arithmetic in that of a kernel."""
    for module in list(model.modules()):
        if isinstance(module, Heads):
            module.kernel = arithmetic
        for name, child in module.named_children():
            if isinstance(child, Dropout):
                setattr(module, name, PlainDropout(child.p))


def arithmetic(query: Tensor, key: Tensor, value: Tensor, scope: Scope, scale: float | None) -> Tensor:
    """`functional.attention`, with the way back that PyTorch finds."""
    key, value = (functional.share_heads(x, query.shape[1]) for x in (key, value))
    return functional.attention(query, key, value, scope.may_look_of(query), scope.bias, scale)


def loop_of(variant: str, seed: int, folder: Path) -> Loop:
    """A run that is about to begin."""
    given = [*SMALL, *SETTINGS, f"training.seed={seed}", f"training.precision={PRECISIONS[variant]}"]
    work, start = begun(with_steps(read_run(PRESETS / "zh-en.toml", given), STEPS), None)
    loop = prepare(work, start, folder, LineReporter(io.StringIO()))
    if variant == "plain":
        made_plain(loop.model)
        task: Any = loop.task
        loop.task = PlainTask(task.batches, task.validator, task.smoothing)
    return loop


def run(options: argparse.Namespace) -> None:
    """Every variant with every seed, those that are not there yet."""
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for seed in range(1, options.seeds + 1):
        for variant in PRECISIONS:
            path = options.out / f"{variant}-{seed}.json"
            if path.exists():
                continue
            with TemporaryDirectory() as folder:
                loop = loop_of(variant, seed, Path(folder))
                loop.model.train()
                began, losses = time.monotonic(), []
                for step in range(1, STEPS + 1):
                    losses.append(round(loop.update()[0], 4))
                    if step % 25 == 0:
                        seconds = time.monotonic() - began
                        print(f"{variant}, seed {seed}: step {step}, loss {losses[-1]}, {seconds:.0f} s", flush=True)
                development = loop.measured().loss
            record = {"variant": variant, "seed": seed, "target_tokens": loop.size, "losses": losses}
            path.write_text(json.dumps(record | {"development_loss": development}, indent=1) + "\n", "utf-8")


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All runs by variant, by seed."""
    return {
        variant: [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob(f"{variant}-*.json"))]
        for variant in PRECISIONS
    }


def means(losses: list[float], n: int) -> list[float]:
    """Of every n losses."""
    return [statistics.mean(losses[start : start + n]) for start in range(0, len(losses), n)]


def show(options: argparse.Namespace) -> None:
    """The table in Markdown, and the figure."""
    runs = records(options.out)
    print(f"| | loss, mean of the last {LAST} steps, by seed | development loss, unsmoothed, by seed |\n|---|---|---|")
    for variant, several in runs.items():
        cells = [[f"{statistics.mean(run['losses'][-LAST:]):.3f}" for run in several]]
        cells.append([f"{run['development_loss']:.3f}" for run in several])
        print(f"| {variant} | {' | '.join(', '.join(cell) for cell in cells)} |")
    apart = [
        abs(some - other)
        for fast, plain in zip(*runs.values(), strict=True)
        for some, other in zip(means(fast["losses"], LAST), means(plain["losses"], LAST), strict=True)
    ]
    mean, most = f"{statistics.mean(apart):.3f}", f"{max(apart):.3f}"
    print(f"\nWith the same seed, the means of every {LAST} steps are apart by {mean}, at most by {most}.")
    draw(runs, options.figure)


def draw(runs: dict[str, list[dict[str, Any]]], path: Path) -> None:
    """The loss of every run against its steps, each the mean of ten."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for number, (variant, several) in enumerate(runs.items()):
        for run in several:
            tens = means(run["losses"], 10)
            label = variant if run is several[0] else None
            how = {"fast": {"linewidth": 3, "alpha": 0.4}, "plain": {"linewidth": 0.8}}[variant]  # plain upon fast
            axes.plot(range(10, STEPS + 1, 10), tens, f"C{number}", label=label, **how)
    axes.set(xlabel="step", ylabel="loss, nats a token (smoothed labels)", title="three seeds each")
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("results/logs/loss-curves"))
    parser.add_argument("--figure", type=Path, default=Path("docs/pictures/loss-curves.png"))
    options = parser.parse_args()
    {"run": run, "show": show}[options.what](options)


if __name__ == "__main__":
    main()
