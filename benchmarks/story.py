"""What attention brought, in numbers: four translators, the same pairs, the same minutes.

    taskset -c 0 .venv/bin/python benchmarks/story.py run --part 1/2 &
    taskset -c 1 .venv/bin/python benchmarks/story.py run --part 2/2
    .venv/bin/python benchmarks/story.py speed
    .venv/bin/python benchmarks/story.py time
    .venv/bin/python benchmarks/story.py show

`run` trains each for twelve minutes on one core (STEPS), `PROSECTOR_DATA` naming the folder with the data, and leaves a
JSON file for each run: the log of the training (quality at equal time and at equal tokens), and every translation of
the development sentences (quality against length). `speed` translates sentence by sentence with the models that `run`
left. `time` measures one forward and backward pass against the length of the sequence, a recurrent layer's and an
attention layer's. `show` makes the tables and the figure from those files alone.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from prosector.attention import Mask, MultiHeadAttention, Scope
from prosector.blocks import Recurrent
from prosector.cli.trial import with_steps
from prosector.config.decoding import DecodingConfig
from prosector.config.run import RunConfig, read_run
from prosector.data.corpus import PRESETS, Pair, find, read_table
from prosector.decoding import load
from prosector.evaluation.intervals import bleu_of, matches, mean_bleu_interval
from prosector.training.report import LineReporter
from prosector.training.run import train

SHARED = (  # the rate was the better of 1.5e-3 and 3e-3 for each in trials of three minutes
    "training.learning_rate=3e-3",
    "tokenizer.vocab_size=4000",
    "tokenizer.coverage=0.9995",
    "data.batch_tokens=1280",
    "training.label_smoothing=0.1",
    "training.validate_pairs=500",
    "training.average=1",
)
RNN = ("model.d_model=128", "model.d_hidden=256", "model.layers=2", "model.dropout=0.2")
LOOKING_BACK = ("model.d_model=128", "model.d_hidden=256", "model.d_attention=128", "model.dropout=0.2")
TRANSFORMER = (
    'model={ kind = "transformer", d_model = 128, n_heads = 4, d_ff = 512, encoder_layers = 3, decoder_layers = 3, '
    'dropout = 0.2, kernel = "written-out" }'
)
VARIANTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "rnn, context once": ("rnn", (*RNN, "model.context_at_every_step=false")),
    "rnn, context at every step": ("rnn", RNN),
    "rnn with attention": ("rnn-attention", LOOKING_BACK),
    "transformer": ("rnn", (TRANSFORMER,)),  # the same data and tokenizer; the model is written out
}
STEPS = {  # that took twelve minutes on one core of the machine that results/family.md names
    "rnn, context once": 3850,
    "rnn, context at every step": 3550,
    "rnn with attention": 2050,
    "transformer": 2900,
}
DEV = ("zh-en/dev_tatoeba_dev.tsv.xz", "zh-en/dev_captions3am_val.tsv.xz")
BUCKETS = ((1, 6), (7, 10), (11, 15), (16, 22), (23, 99))  # characters of the Chinese sentence


def development() -> list[Pair]:
    """The development sentences of both kinds."""
    return [pair for name in DEV for pair in read_table(find(name), ("en", "zh"), "zh", "en")]


def wanted(options: argparse.Namespace) -> list[tuple[str, int]]:
    """The runs of this part, each a variant and a seed."""
    runs = [(variant, seed) for seed in range(1, options.seeds + 1) for variant in VARIANTS]
    part, of = map(int, options.part.split("/"))
    return runs[part - 1 :: of]


def named(variant: str, seed: int) -> str:
    """A run's name, for files."""
    return f"{variant.replace(', ', '-').replace(' ', '-')}-{seed}"


def recipe(variant: str, seed: int) -> RunConfig:
    """A variant's run on one core, validated after every tenth of its steps."""
    preset, settings = VARIANTS[variant]
    given = [*SHARED, f"training.seed={seed}", "training.threads=1", *settings]
    config: RunConfig = with_steps(read_run(PRESETS / f"{preset}.toml", given), STEPS[variant])
    training = config.training.model_copy(update={"validate_every": 2 * config.training.save_every})
    return config.model_copy(update={"training": training})


def run(options: argparse.Namespace) -> None:
    """Train every variant with every seed, one after the other."""
    options.out.mkdir(parents=True, exist_ok=True)
    pairs = development()
    torch.set_num_threads(1)
    for variant, seed in wanted(options):
        folder, path = options.work / named(variant, seed), options.out / f"{named(variant, seed)}.json"
        if path.exists():
            continue
        print(f"== {variant}, seed {seed}", flush=True)
        outcome = train(recipe(variant, seed), folder, LineReporter())
        translator = load(folder)
        record = {
            "variant": variant,
            "seed": seed,
            "steps": outcome.step,
            "weights": sum(p.numel() for p in translator.model.parameters()),
            "log": [json.loads(line) for line in (folder / "training/log.jsonl").read_text().splitlines()],
            "translations": translator.translate([pair.source for pair in pairs], DecodingConfig(beam=1)),
        }
        path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")


def speed(options: argparse.Namespace) -> None:
    """Milliseconds a sentence, greedily and one after the other on one core; the variants take turns, five times."""
    torch.set_num_threads(1)
    sources = [pair.source for pair in development()][:: max(1, len(development()) // 100)]
    translators = {variant: load(options.work / named(variant, 2)) for variant in VARIANTS}
    taken: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    for turn in range(6):  # the first to warm up
        for variant, translator in translators.items():
            began = time.perf_counter()
            for source in sources:
                translator.translate([source], DecodingConfig(beam=1))
            if turn:
                taken[variant].append(1000 * (time.perf_counter() - began) / len(sources))
        print({variant: times[-1:] for variant, times in taken.items()}, flush=True)
    (options.out / "speed.json").write_text(json.dumps(taken, indent=1) + "\n", "utf-8")


def time_passes(options: argparse.Namespace) -> None:
    """One forward and backward pass of a layer, of d 256, over one sequence of growing length."""
    torch.set_num_threads(1)
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


def spread(values: Sequence[float], digits: int = 1) -> str:
    """The mean, and the lowest and highest."""
    mean, low, high = (f"{value:,.{digits}f}" for value in (statistics.mean(values), min(values), max(values)))
    return f"{mean} ({low} to {high})"


def validations(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What was measured on the way, before any weights were chosen."""
    return [line for line in run["log"] if "dev_loss" in line and "final" not in line]


def show(options: argparse.Namespace) -> None:
    """Tables in Markdown, and the figure."""
    runs, pairs = records(options.out), development()
    slow = json.loads((options.out / "speed.json").read_text("utf-8"))
    fewest = min(validations(run)[-1]["tokens"] for several in runs.values() for run in several)
    heads = (
        "weights",
        "steps",
        "minutes",
        "BLEU",
        "chrF",
        f"BLEU after {fewest:,} target tokens",
        "target tokens/s",
        "ms a sentence",
    )
    print(f"| | {' | '.join(heads)} |\n{'|---' * (len(heads) + 1)}|")
    for variant, several in runs.items():
        ends = [validations(run)[-1] for run in several]
        cells = [f"{several[0]['weights'] / 1e6:.1f} M", spread([run["steps"] for run in several], 0)]
        cells.append(spread([end["seconds"] / 60 for end in ends]))
        cells += [spread([end[key] for end in ends]) for key in ("bleu", "chrf")]
        cells.append(spread([bleu_at(run, "tokens", fewest) for run in several]))
        cells.append(f"{statistics.mean(end['tokens'] / end['seconds'] for end in ends):,.0f}")
        cells.append(spread(slow[variant]))
        print(f"| {variant} | {' | '.join(cells)} |")
    found = {variant: by_length(several, pairs) for variant, several in runs.items()}
    n = [sum(low <= len(pair.source) <= high for pair in pairs) for low, high in BUCKETS]
    columns = [f"{low} to {high} ({count})" for (low, high), count in zip(BUCKETS, n, strict=True)]
    print(f"\n| BLEU by characters of the source (sentences) | {' | '.join(columns)} |\n{'|---' * (len(BUCKETS) + 1)}|")
    for variant, buckets in found.items():
        print(f"| {variant} | {' | '.join(f'{mean:.1f} ({low:.1f} to {high:.1f})' for mean, low, high in buckets)} |")
    draw(runs, found, options.out, options.figure)


def bleu_at(run: dict[str, Any], unit: str, amount: float) -> float:
    """BLEU after so many tokens or seconds, between two validations on the straight line between them."""
    seen = [(0, 0.0), *((line[unit], line["bleu"]) for line in validations(run))]
    for (before, low), (after, high) in itertools.pairwise(seen):
        if after >= amount:
            return float(low + (high - low) * (amount - before) / (after - before))
    return float(seen[-1][1])


def by_length(several: list[dict[str, Any]], pairs: Sequence[Pair]) -> list[tuple[float, float, float]]:
    """The mean BLEU of a variant's runs in each bucket, and the 95 % interval of that mean over sentences."""
    found = []
    for low, high in BUCKETS:
        chosen = [i for i, pair in enumerate(pairs) if low <= len(pair.source) <= high]
        references = [pairs[i].target for i in chosen]
        rows = [matches([run["translations"][i] for i in chosen], references, "en") for run in several]
        mean = statistics.mean(bleu_of(row.sum(0)) for row in rows)
        found.append((mean, *mean_bleu_interval(rows)))
    return found


def draw(
    runs: dict[str, list[dict[str, Any]]],
    found: dict[str, list[tuple[float, float, float]]],
    folder: Path,
    path: Path,
) -> None:
    """Quality against time, against length, and time against length."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for number, (variant, several) in enumerate(runs.items()):
        colour = f"C{number}"
        for run in several:
            seen = validations(run)
            label = variant if run is several[0] else None
            left.plot([line["seconds"] / 60 for line in seen], [line["bleu"] for line in seen], colour, label=label)
        means, lowest, highest = zip(*found[variant], strict=True)
        middle.plot(means, color=colour, marker="o")
        middle.fill_between(range(len(BUCKETS)), lowest, highest, color=colour, alpha=0.2, linewidth=0)
    left.set(xlabel="minutes of training on one core", ylabel="BLEU", title="everyday sentences, three seeds each")
    left.legend(fontsize=8)
    middle.set(xlabel="characters of the source", ylabel="BLEU", title="at the end, by length (95 % of resamples)")
    middle.set_xticks(range(len(BUCKETS)), [f"{low}-{high}" for low, high in BUCKETS])
    rows = json.loads((folder / "time.json").read_text("utf-8"))
    for name, colour in (("lstm", "C1"), ("attention", "C3")):
        lengths = [row["length"] for row in rows]
        right.plot(lengths, [row[name][1] for row in rows], color=colour, marker="o", label=name)
        right.fill_between(lengths, *zip(*[row[name][::2] for row in rows], strict=True), color=colour, alpha=0.2)
    right.set(xlabel="length of the sequence", ylabel="ms", title="one layer, forward and backward", xscale="log")
    right.set_yscale("log")
    right.legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "speed", "time", "show"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--part", default="1/1", help="every n-th run alone, from the first, the second, ...")
    parser.add_argument("--out", type=Path, default=Path("results/logs/story"))
    parser.add_argument("--work", type=Path, default=Path("runs/story"), help="where the models go")
    parser.add_argument("--figure", type=Path, default=Path("docs/pictures/story.png"))
    options = parser.parse_args()
    {"run": run, "speed": speed, "time": time_passes, "show": show}[options.what](options)


if __name__ == "__main__":
    main()
