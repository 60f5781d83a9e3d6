"""What attention brought, in numbers: four translators, the same pairs, the same minutes.

    .venv/bin/python benchmarks/story.py run [--seconds 720] [--seeds 3] [--out results/logs/story]
    .venv/bin/python benchmarks/story.py time [--out results/logs/story]
    .venv/bin/python benchmarks/story.py show [--out results/logs/story]

`run` trains each in turn, `PROSECTOR_DATA` naming the folder with the data, and leaves a JSON file for each run: the
log of the training (quality at equal time and at equal tokens), and every translation of the development sentences
(quality against length). `time` measures one forward and backward pass against the length of the sequence, a recurrent
layer's and an attention layer's. `show` makes the tables and the figure from those files alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from prosector.attention import Mask, MultiHeadAttention, Scope
from prosector.blocks import Recurrent
from prosector.cli.trial import begun, fitted
from prosector.config.decoding import DecodingConfig
from prosector.config.run import RunConfig, read_run
from prosector.data.corpus import PRESETS, Pair, find, read_table
from prosector.decoding import load
from prosector.evaluation.scores import score
from prosector.training.report import LineReporter
from prosector.training.run import train

SHARED = (
    "tokenizer.vocab_size=5000",
    "tokenizer.coverage=0.9995",
    "data.batch_tokens=2560",
    "training.label_smoothing=0.1",
    "training.validate_pairs=500",
    "training.average=1",
)
RNN = ("model.d_model=256", "model.d_hidden=512", "model.layers=2", "model.dropout=0.2")
LOOKING_BACK = ("model.d_model=256", "model.d_hidden=512", "model.d_attention=256", "model.dropout=0.2")
TRANSFORMER = (
    'model={ kind = "transformer", d_model = 256, n_heads = 4, d_ff = 1024, encoder_layers = 3, decoder_layers = 3, '
    'dropout = 0.2, kernel = "written-out" }'
)
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rnn, context once": ("rnn", (*RNN, "model.context_at_every_step=false")),
    "rnn, context at every step": ("rnn", RNN),
    "rnn with attention": ("rnn-attention", LOOKING_BACK),
    "transformer": ("rnn", (TRANSFORMER,)),  # the same data and tokenizer; the model is written out
}
DEV = ("zh-en/dev_tatoeba_dev.tsv.xz", "zh-en/dev_captions3am_val.tsv.xz")
BUCKETS = ((1, 6), (7, 10), (11, 15), (16, 22), (23, 99))  # characters of the Chinese sentence


def development() -> list[Pair]:
    """The development sentences of both kinds."""
    return [pair for name in DEV for pair in read_table(find(name), ("en", "zh"), "zh", "en")]


def run(options: argparse.Namespace) -> None:
    """Train every variant with every seed, one after the other."""
    options.out.mkdir(parents=True, exist_ok=True)
    pairs = development()
    for seed in range(1, options.seeds + 1):
        for variant, (preset, settings) in VARIANTS.items():
            name = f"{variant.replace(', ', '-').replace(' ', '-')}-{seed}"
            if (options.out / f"{name}.json").exists():
                continue
            print(f"== {variant}, seed {seed}", flush=True)
            given = [*SHARED, f"training.seed={seed}", *settings]
            if options.threads:
                given.append(f"training.threads={options.threads}")
            config = read_run(PRESETS / f"{preset}.toml", given)
            folder = options.work / name
            if not isinstance(config, RunConfig):
                raise ValueError(f"{variant} is no translator")
            trained: RunConfig = fitted(*begun(config, None), options.seconds)
            outcome = train(trained, folder, LineReporter())
            began = time.perf_counter()
            translations = load(folder).translate([pair.source for pair in pairs], DecodingConfig(beam=1))
            seconds = (time.perf_counter() - began) / len(pairs)
            record = {
                "variant": variant,
                "seed": seed,
                "seconds": options.seconds,
                "steps": outcome.step,
                "weights": sum(p.numel() for p in load(folder).model.parameters()),
                "seconds_a_sentence": seconds,
                "log": [json.loads(line) for line in (folder / "training/log.jsonl").read_text().splitlines()],
                "translations": translations,
            }
            (options.out / f"{name}.json").write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")


def time_passes(options: argparse.Namespace) -> None:
    """One forward and backward pass of a layer, of d 256, over one sequence of growing length."""
    torch.set_num_threads(options.threads or torch.get_num_threads())
    lstm, attention = Recurrent("lstm", 256, 256, 1, 0.0), MultiHeadAttention(256, 4)
    rows = []
    for length in (16, 32, 64, 128, 256, 512, 1024, 2048):
        x = torch.randn(1, length, 256, requires_grad=True)
        at, real = torch.arange(length), torch.ones(1, length, dtype=torch.bool)

        def recurrent(x: torch.Tensor = x, real: torch.Tensor = real) -> torch.Tensor:
            return lstm.read(x, real)[0]

        def attended(x: torch.Tensor = x, at: torch.Tensor = at) -> torch.Tensor:
            return attention(x, x, Scope(at, at, Mask.causal()))

        row = {"length": length, "lstm": milliseconds(recurrent), "attention": milliseconds(attended)}
        print(row, flush=True)
        rows.append(row)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "time.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


def milliseconds(compute: Callable[[], torch.Tensor], rounds: int = 15) -> list[float]:
    """The fastest, the median and the slowest of some passes, forward and backward, after two to warm up."""
    taken = []
    for number in range(rounds + 2):
        began = time.perf_counter()
        compute().sum().backward()
        if number > 1:
            taken.append(1000 * (time.perf_counter() - began))
    return [min(taken), statistics.median(taken), max(taken)]


def records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """All runs by variant, by seed."""
    found: dict[str, list[dict[str, Any]]] = {variant: [] for variant in VARIANTS}
    for path in sorted(folder.glob("*-[0-9].json")):
        record = json.loads(path.read_text("utf-8"))
        found[record["variant"]].append(record)
    return {variant: runs for variant, runs in found.items() if runs}


def spread(values: Sequence[float]) -> str:
    """The mean, and the lowest and highest."""
    return f"{statistics.mean(values):.1f} ({min(values):.1f} to {max(values):.1f})"


def last(run: dict[str, Any]) -> dict[str, Any]:
    """A run's last validation before it chose."""
    return [line for line in run["log"] if "dev_loss" in line and "final" not in line][-1]


def at_tokens(run: dict[str, Any], tokens: int) -> dict[str, Any]:
    """The last validation before a run had seen so many target tokens."""
    seen = [line for line in run["log"] if "dev_loss" in line and line["tokens"] <= tokens]
    return seen[-1] if seen else next(line for line in run["log"] if "dev_loss" in line)


def show(options: argparse.Namespace) -> None:
    """Tables in Markdown, and the figure."""
    runs, pairs = records(options.out), development()
    fewest = min(last(run)["tokens"] for several in runs.values() for run in several)
    heads = ("BLEU", "chrF", "loss", f"BLEU at {fewest:,} tokens", "target tokens/s", "ms a sentence")
    print(f"| | {' | '.join(heads)} |\n{'|---' * (len(heads) + 1)}|")
    for variant, several in runs.items():
        ends = [last(run) for run in several]
        cells = [spread([end[key] for end in ends]) for key in ("bleu", "chrf")]
        cells.append(f"{statistics.mean(end['dev_loss'] for end in ends):.2f}")
        cells.append(spread([at_tokens(run, fewest)["bleu"] for run in several]))
        cells.append(f"{statistics.mean(end['tokens'] / end['seconds'] for end in ends):,.0f}")
        cells.append(f"{1000 * statistics.mean(run['seconds_a_sentence'] for run in several):.1f}")
        print(f"| {variant} | {' | '.join(cells)} |")
    by_length = {variant: [lengths(run, pairs) for run in several] for variant, several in runs.items()}
    print("\n| BLEU by characters of the source | " + " | ".join(f"{a} to {b}" for a, b in BUCKETS) + " |")
    print("|---" * (len(BUCKETS) + 1) + "|")
    for variant, buckets in by_length.items():
        print(f"| {variant} | {' | '.join(spread(column) for column in zip(*buckets, strict=True))} |")
    draw(runs, by_length, options.out, options.figure)


def lengths(run: dict[str, Any], pairs: Sequence[Pair]) -> list[float]:
    """BLEU of a run in each bucket."""
    scores = []
    for low, high in BUCKETS:
        chosen = [i for i, pair in enumerate(pairs) if low <= len(pair.source) <= high]
        scores.append(score([run["translations"][i] for i in chosen], [pairs[i].target for i in chosen], "en").bleu)
    return scores


def draw(
    runs: dict[str, list[dict[str, Any]]], by_length: dict[str, list[list[float]]], folder: Path, path: Path
) -> None:
    """Quality against time, against length, and time against length."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for number, (variant, several) in enumerate(runs.items()):
        colour = f"C{number}"
        for run in several:
            seen = [line for line in run["log"] if "dev_loss" in line and "final" not in line]
            label = variant if run is several[0] else None
            minutes, bleu = [line["seconds"] / 60 for line in seen], [line["bleu"] for line in seen]
            left.plot(minutes, bleu, color=colour, label=label)
        columns = list(zip(*by_length[variant], strict=True))
        middle.plot([statistics.mean(column) for column in columns], color=colour, marker="o")
        lowest, highest = [min(column) for column in columns], [max(column) for column in columns]
        middle.fill_between(range(len(columns)), lowest, highest, color=colour, alpha=0.2)
    left.set(xlabel="minutes of training", ylabel="BLEU, development sentences")
    left.legend(fontsize=8)
    middle.set(xlabel="characters of the source", ylabel="BLEU")
    middle.set_xticks(range(len(BUCKETS)), [f"{low}-{high}" for low, high in BUCKETS])
    if (folder / "time.json").exists():
        rows = json.loads((folder / "time.json").read_text("utf-8"))
        for name, colour in (("lstm", "C1"), ("attention", "C3")):
            taken = [row[name][1] for row in rows]
            right.loglog([row["length"] for row in rows], taken, color=colour, marker="o", label=name)
        right.set(xlabel="length of the sequence", ylabel="ms, forward and backward")
        right.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "time", "show"])
    parser.add_argument("--seconds", type=float, default=720)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results/logs/story"))
    parser.add_argument("--work", type=Path, default=Path("runs/story"), help="where the models go")
    parser.add_argument("--figure", type=Path, default=Path("docs/pictures/story.png"))
    options = parser.parse_args()
    {"run": run, "time": time_passes, "show": show}[options.what](options)


if __name__ == "__main__":
    main()
