"""Whether CTranslate2 and onnxruntime write what we write, with the translators that come with the package.

    PROSECTOR_DATA=… .venv/bin/python benchmarks/engines.py [--limit 200] [--threads 1] [--texts]

Exports zh-en and en-zh, translates the first development pairs by each engine, and prints two tables: how many lines
are those of our own engine, with BLEU and seconds; and every line that differs though nothing was quantized, with
Σ log p / length of both under our own model: where the two are equal it is a tie, and where one is lower its search
missed the other. --texts prints these lines too; leave it out where the data may not be shown.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from unittest.mock import patch

import torch

from prosector.config.data import FileConfig
from prosector.config.decoding import DecodingConfig
from prosector.data.corpus import read_pairs
from prosector.decoding import RepetitionGuard, Translator, find_model, load
from prosector.evaluation.scores import score
from prosector.interop.engines import ctranslate2_engine, export_ctranslate2, export_onnx, load_engine

DEV = "zh-en/dev_tatoeba_dev.tsv.xz"
MODELS = ("zh-en", "en-zh")


class Engine(NamedTuple):
    """An engine, its folder, and how it is set."""

    name: str
    folder: Path
    translator: Translator
    patience: float = ctranslate2_engine.PATIENCE


def engines(model: str, here: Path) -> list[Engine]:
    """All that a model is exported to."""
    folder = find_model(model)
    export_onnx(folder, here / "onnx")
    export_ctranslate2(folder, here / "float32")
    export_ctranslate2(folder, here / "int8", "int8")
    whole = load_engine("ctranslate2", here / "float32")
    return [
        Engine("onnxruntime", here / "onnx", load_engine("onnx", here / "onnx")),
        Engine("CTranslate2", here / "float32", whole),
        Engine("CTranslate2, patience 1", here / "float32", whole, patience=1.0),
        Engine("CTranslate2, int8", here / "int8", load_engine("ctranslate2", here / "int8")),
    ]


def timed(translator: Translator, texts: Sequence[str], beam: int) -> tuple[list[str], float]:
    """The translations, and the seconds that they took after a first few."""
    translator.translate(texts[:8], beam=beam)
    began = time.perf_counter()
    return translator.translate(texts, beam=beam), time.perf_counter() - began


@torch.inference_mode()
def mean_log_p(ours: Translator, by: Translator, text: str, beam: int) -> float:
    """Σ log p / length, under our model, of what a translator writes; the mean of the text's sentences."""
    how = DecodingConfig(beam=beam)
    special, scores = ours.special, []
    for part in by.plan(text, how):
        src = by.ids(part.text)
        guard = RepetitionGuard([part.text], by.wordiness)
        [[found]] = by.search([src], [by.longest_target(len(src), how)], [part.text], guard, how)
        log_p = ours.model(torch.tensor([src]), torch.tensor([[special.sos, *found.ids]]))[0].log_softmax(-1)
        gains = log_p.gather(1, torch.tensor([*found.ids, special.eos])[:, None])
        scores.append(gains.mean().item())
    return sum(scores) / len(scores)


def megabytes(folder: Path) -> float:
    """The size of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*")) / 2**20


def compared(model: str, limit: int, here: Path) -> tuple[list[str], list[str]]:
    """The rows of both tables for one model; a line that differs is followed by its texts."""
    ours, rows, differing = load(model), [], []
    languages = ours.config.source, ours.config.target
    pairs = read_pairs(FileConfig(path=DEV), *languages)[:limit]
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    made = engines(model, here)
    for beam in (1, 4):
        wanted, seconds = timed(ours, sources, beam)
        bleu = score(wanted, references, languages[1]).bleu
        for engine in made if beam > 1 else [one for one in made if one.patience > 1]:
            with patch.object(ctranslate2_engine, "PATIENCE", engine.patience):
                found, their_seconds = timed(engine.translator, sources, beam)
                differs = [number for number, text in enumerate(wanted) if found[number] != text]
                scores = [
                    [mean_log_p(ours, by, sources[number], beam) for by in (ours, engine.translator)]
                    for number in differs
                ]
            rows.append(
                f"| {model} | {engine.name} | {beam} | {len(sources) - len(differs)} of {len(sources)} | {bleu:.2f} "
                f"| {score(found, references, languages[1]).bleu:.2f} | {seconds:.2f} | {their_seconds:.2f} "
                f"| {megabytes(engine.folder):.1f} |"
            )
            for number, (one, other) in zip(differs, scores, strict=True) if "int8" not in engine.name else ():
                gain = f"{other - one:+.4f}"
                differing += [
                    f"| {model} | {engine.name} | {beam} | {number + 1} | {one:.4f} | {other:.4f} | {gain} |",
                    f"| | | | {sources[number]} | {wanted[number]} | {found[number]} | |",
                ]
    return rows, differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--texts", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    rows, differing = [], []
    for model in MODELS:
        with TemporaryDirectory() as here:
            some, others = compared(model, options.limit, Path(here))
        rows, differing = rows + some, differing + others
    print(f"{options.limit} lines of {DEV}, {options.threads} thread(s), repetition guard on")
    print("| model | engine | beam | same lines | BLEU, ours | BLEU, theirs | s, ours | s, theirs | MiB |")
    print("|---|---|---|---|---|---|---|---|---|", *rows, sep="\n")
    print("\n| model | engine | beam | line | log p / length, ours | theirs | theirs - ours |")
    print("|---|---|---|---|---|---|---|", *(differing if options.texts else differing[::2]), sep="\n")


if __name__ == "__main__":
    main()
