"""What the family reaches on real data: one JSON file a run, and the table from those files alone.

    .venv/bin/python benchmarks/family.py run [gpt bert vit conv-transformer unet attention-unet] [--seeds 3]
    .venv/bin/python benchmarks/family.py show
    .venv/bin/python benchmarks/family.py shipped-gpt

A run takes about as long as --seconds says (six minutes). PROSECTOR_DATA names the folder with the sentence pairs; the
pictures come from PyPI. Test pictures, blocks and lines are looked at here and nowhere else, once a run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import prosector
from prosector.cli.trial import begun, fitted
from prosector.config.run import AnyRun, read_run
from prosector.data.corpus import PRESETS
from prosector.data.masks import read_masks
from prosector.data.pictures import read_pictures, split
from prosector.data.texts import read_texts, stream_of
from prosector.evaluation.classes import classed
from prosector.evaluation.ngram import NGram
from prosector.evaluation.overlap import of_classes
from prosector.evaluation.texts import bytes_of, surprise_at
from prosector.training.labelling import read_labelled
from prosector.training.report import LineReporter
from prosector.training.run import train

EVERYDAY = ("tatoeba", "tatoeba_opus_extra", "hsk_sentences", "captions3am")
SOURCES = ("tatoeba", "captions3am", "python_docs", "bible_bsb_cuv", "tldr")  # whose sentence is it?
DEV = "dev_tatoeba_dev"
POEMS = Path("/usr/share/games/fortunes/tang300")  # Debian's fortunes-zh
LARGER = ("model.d_model=256", "model.d_ff=1024")  # than those that come with the package
KINDS = ["gpt", "bert", "vit", "conv-transformer", "unet", "attention-unet"]
Record = dict[str, Any]


def table(name: str, column: int) -> str:
    """A file of the data, one column, as a recipe writes it."""
    return f'{{ path = "zh-en/{name}.tsv.xz", column = {column} }}'


def learn(config: AnyRun, seconds: float | None, folder: Path, start: Path | None = None) -> Record:
    """Train as long as that, or as many steps as the recipe says."""
    if seconds is not None:
        config = fitted(*begun(config, None), seconds)
    began = time.monotonic()
    outcome = train(config, folder, LineReporter(), start_from=start)
    log = [json.loads(line) for line in (folder / "training/log.jsonl").read_text("utf-8").splitlines()]
    return {
        "steps": outcome.step,
        "seconds": round(time.monotonic() - began, 1),
        "chosen": outcome.chosen,
        "development": outcome.validation.scores,
        "log": log,
    }


def gpt(language: str, options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """Bits a byte of unseen everyday sentences, and those of a 5-gram model of the same text and tokens."""
    column = {"en": 1, "zh": 2}[language]
    files = ", ".join(table(name, column) for name in EVERYDAY)
    given = [
        *LARGER,
        "tokenizer.vocab_size=4000",
        "tokenizer.coverage=0.9995",
        f"data.train=[{files}]",
        f"data.dev=[{table(DEV, column)}]",
    ]
    return writing(given, {"en": "I think", "zh": "我想"}[language], options, seed, folder)


def poems(options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """The same for the last twentieth of three hundred Tang poems; little to learn from, so a small model."""
    given = ['tokenizer={ kind = "characters" }', f'data.train=[{{ path = "{POEMS}" }}]', "data.dev=[]"]
    given += ["model.dropout=0.3", "training.validate_every=200"]
    return writing(given, "春", options, seed, folder)


def writing(given: list[str], beginning: str, options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """A GPT and a 5-gram model of the same texts, in the same tokens, on the same unseen lines."""
    config = read_run(PRESETS / "gpt.toml", [*given, f"training.seed={seed}"])
    record = learn(config, options.seconds, folder)
    writer = prosector.load(folder)
    written = [beginning + writer.write(beginning, temperature=0.7, seed=number) for number in range(5)]
    return record | against_5gram(writer, config) | {"written": written}


def against_5gram(writer: Any, config: AnyRun) -> Record:
    """How surprised both are by the development lines of a recipe, the 5-gram model having read those to train on."""
    texts, unseen = read_texts(config.data)  # type: ignore[arg-type]
    ours = surprise_at(writer.model, unseen, writer.tokenizer, writer.config.context)
    seen = stream_of([line for text in texts for line in text], writer.tokenizer)
    nats = NGram(seen.tolist(), 5, writer.tokenizer.vocab_size).nats(stream_of(unseen, writer.tokenizer).tolist())
    return {
        "bits_per_byte": ours.bits_per_byte,
        "perplexity": ours.perplexity,
        "bits_per_byte_5gram": nats / math.log(2) / bytes_of(unseen),
        "perplexity_5gram": math.exp(nats / ours.n_tokens),
    }


def bert(options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """Gaps and pairs; then whose sentence is it, from 50 of each: after reading, from random weights, by counting."""
    record = learn(
        read_run(
            PRESETS / "bert.toml",
            [*LARGER, "tokenizer.vocab_size=8000", "tokenizer.coverage=0.9997", f"training.seed={seed}"],
        ),
        options.seconds,
        folder / "reader",
    )
    labels = ", ".join(f"{name} = {table(name, 2)}" for name in SOURCES)
    label = read_run(PRESETS / "label.toml", [f"data.labels={{ {labels} }}", f"training.seed={seed}", "data.batch=16"])
    parts = read_labelled(label.data)  # type: ignore[arg-type]
    for name, start in (("after reading", folder / "reader"), ("from random weights", None)):
        learn(label, None, folder / name.replace(" ", "-"), start)
        reader = prosector.load(folder / name.replace(" ", "-"))
        found = reader.classify(parts.test.texts)
        right = [best[0].name == SOURCES[wanted] for best, wanted in zip(found, parts.test.labels, strict=True)]
        record[f"accuracy {name}"] = sum(right) / len(right)
    record["accuracy counting pieces"] = bag_of_words(parts, prosector.load(folder / "reader").tokenizer)
    reader = prosector.load(folder / "reader")
    gaps = ("我[MASK]深度学习。", "I [MASK] deep learning.", "他[MASK]在家。")
    record["filled"] = {text: reader.filled(text) for text in gaps}
    return record


def bag_of_words(parts: Any, tokenizer: Any) -> float:
    """The share of test texts told right by a linear model of how often each piece occurs, its decay chosen on dev."""

    def counts(texts: list[str]) -> torch.Tensor:
        rows = torch.zeros(len(texts), tokenizer.vocab_size)
        for row, ids in zip(rows, tokenizer.encode_batch(texts), strict=True):
            row += torch.bincount(torch.tensor(ids, dtype=torch.long), minlength=tokenizer.vocab_size)
        return F.normalize(rows.log1p(), dim=1)

    x, dev, test = (counts(part.texts) for part in parts)
    y, wanted_dev, wanted = (torch.tensor(part.labels) for part in parts)
    best = (0.0, 0.0)
    for decay in (1e-4, 1e-3, 1e-2, 1e-1):
        linear = torch.nn.Linear(x.shape[1], len(SOURCES))
        optimizer = torch.optim.LBFGS(linear.parameters(), max_iter=200)

        def closure(linear: torch.nn.Linear = linear, decay: float = decay, optimizer: Any = optimizer) -> torch.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(linear(x), y) + decay * linear.weight.square().sum() / 2
            loss.backward()
            return loss

        optimizer.step(closure)
        on_dev = (linear(dev).argmax(1) == wanted_dev).float().mean().item()
        best = max(best, (on_dev, (linear(test).argmax(1) == wanted).float().mean().item()))
    return best[1]


def pictures(kind: str, n: int, options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """The share of 1,000 unseen digits told right, after so many."""
    settings = [f"training.seed={seed}", f"data.train={n}"]
    config = read_run(PRESETS / f"{kind}.toml", settings)
    record = learn(config, options.seconds if n > 1000 else options.seconds / 2, folder)
    test = split(read_pictures("mnist-5k"), config.data).test  # type: ignore[arg-type]
    found = classed(prosector.load(folder).logits, test.values, test.labels)
    return record | {"n_train": n, "accuracy": found.accuracy, "loss": found.loss}


def masks(kind: str, source: str, options: argparse.Namespace, seed: int, folder: Path) -> Record:
    """Dice and IoU on blocks, or slices, that it never saw; the predictions are kept."""
    config = read_run(PRESETS / f"{kind}.toml", [f"training.seed={seed}", f'data.source="{source}"'])
    record = learn(config, options.seconds, folder)
    segmenter, parts = prosector.load(folder), read_masks(source)
    found = [segmenter.classes(segmenter.chances(piece.picture[None]))[0] for piece in parts.test]
    overlaps = of_classes(found, [piece.classes for piece in parts.test], len(parts.names))
    torch.save({"places": [piece.place for piece in parts.test], "predicted": found}, folder / "test-predictions.pt")
    scores = {name: overlap._asdict() for name, overlap in zip(parts.names[1:], overlaps, strict=True)}
    return record | {"source": source, "threshold": segmenter.config.threshold, "test": scores}


def experiments(options: argparse.Namespace) -> dict[str, Callable[[int, Path], Record]]:
    """Every run by its name, given a seed and a folder for the model."""
    runs: dict[str, Callable[[int, Path], Record]] = {
        "gpt-en": lambda seed, folder: gpt("en", options, seed, folder),
        "gpt-zh": lambda seed, folder: gpt("zh", options, seed, folder),
        "bert": lambda seed, folder: bert(options, seed, folder),
    }
    if POEMS.exists():
        runs["gpt-tang"] = lambda seed, folder: poems(options, seed, folder)
    for kind in ("vit", "conv-transformer"):
        for n in (100, 500, 3600):
            runs[f"{kind}-{n}"] = lambda seed, folder, kind=kind, n=n: pictures(kind, n, options, seed, folder)  # type: ignore[misc]
    for kind in ("unet", "attention-unet"):
        for source in ("nuclei", "brain"):
            runs[f"{kind}-{source}"] = lambda seed, folder, kind=kind, source=source: masks(  # type: ignore[misc]
                kind, source, options, seed, folder
            )
    return {name: run for name, run in runs.items() if any(name.startswith(kind) for kind in options.kinds)}


def run(options: argparse.Namespace) -> None:
    """All runs that have no file yet, one after the other."""
    options.out.mkdir(parents=True, exist_ok=True)
    if options.threads:
        torch.set_num_threads(options.threads)
    for seed in range(1, options.seeds + 1):
        for name, experiment in experiments(options).items():
            path = options.out / f"{name}-{seed}.json"
            if path.exists():
                continue
            print(f"== {name}, seed {seed}", flush=True)
            record = {"name": name, "seed": seed, **experiment(seed, options.work / f"{name}-{seed}")}
            path.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n", "utf-8")


def show(options: argparse.Namespace) -> None:
    """A row for each run: the mean over the seeds, the lowest and the highest."""
    found: dict[str, list[Record]] = {}
    for path in sorted(options.out.glob("*-[0-9].json")):
        record = json.loads(path.read_text("utf-8"))
        found.setdefault(record["name"], []).append(record)
    print("| run | seeds | figure | mean (lowest to highest) |\n|---|---|---|---|")
    for name, records in found.items():
        for figure, values in figures(records).items():
            spread = f"{statistics.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"
            print(f"| {name} | {len(records)} | {figure} | {spread} |")


def figures(records: list[Record]) -> dict[str, list[float]]:
    """The numbers at the top of each record, and those of its test, by name."""
    found: dict[str, list[float]] = {}
    for record in records:
        flat = {key: value for key, value in record.items() if isinstance(value, float)}
        for name, scores in record.get("test", {}).items():
            flat |= {f"{name}, {key}": value for key, value in scores.items()}
        for key, value in flat.items():
            found.setdefault(key, []).append(value)
    return found


def shipped_gpt(options: argparse.Namespace) -> None:
    """The GPT that comes with the package, against a 5-gram model of what it learned from."""
    found = against_5gram(prosector.load("gpt"), read_run(PRESETS / "gpt.toml"))
    print("\n".join(f"{name}: {value:.4f}" for name, value in found.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "show", "shipped-gpt"])
    parser.add_argument("kinds", nargs="*", default=KINDS)
    parser.add_argument("--seconds", type=float, default=360)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("results/logs/family"))
    parser.add_argument("--work", type=Path, default=Path("runs/family"), help="where the models go")
    options = parser.parse_args()
    {"run": run, "show": show, "shipped-gpt": shipped_gpt}[options.what](options)


if __name__ == "__main__":
    main()
