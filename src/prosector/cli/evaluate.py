"""`prosector evaluate`: how good a translator is on sentence pairs, in figures that others can compare with."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prosector.cli import options
from prosector.cli.console import say
from prosector.cli.corpora import corpus
from prosector.cli.lines import whole_file
from prosector.cli.options import Beam, Columns, Engine, Parts

if TYPE_CHECKING:
    from prosector.evaluation.evaluate import Evaluation

HELP = """Translate sentence pairs and compare: BLEU and chrF with sacrebleu's signatures, loss, perplexity, speed.
Of a model that writes: bits a byte and perplexity of a text. Of one that classes pictures: how many it has right;
of one that classes places: Dice and IoU.

DATA is a table, English and Chinese with a tab between (other columns: --columns zh,en), or two files side by
side, SOURCE,TARGET. .gz and .xz are unpacked. For a model that writes it is a text, or a table's column, FILE:2; for
one of pictures mnist-5k, digits, or a folder with a folder for each class; for one of places nuclei, brain, or a
folder with pictures/ and masks/.

\b
Examples:
  prosector evaluate --model zh-en --data pairs.tsv
  prosector evaluate --model runs/mine --data news.zh,news.en --beam 1 --limit 200
  prosector evaluate --engine ctranslate2 --model runs/zh-en-int8 --data pairs.tsv
  prosector evaluate --model en-zh --data pairs.tsv --json scores.json --output translations.tsv
  prosector evaluate --model runs/gpt --data book.txt
  prosector evaluate --model runs/vit --data mnist-5k
"""

Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Data = Annotated[str, typer.Option("--data", metavar="FILE", help="The sentence pairs.")]
Limit = Annotated[int | None, typer.Option(metavar="N", min=1, help="Only the first N pairs.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the figures here; - is stdout.")]
Output = Annotated[
    Path | None, typer.Option("--output", metavar="FILE", help="Write source, reference, translation (TSV).")
]


def evaluate(
    model: Model,
    data: Data,
    columns: Columns = "en,zh",
    beam: Beam = None,
    limit: Limit = None,
    json_file: Json = None,
    output: Output = None,
    engine: Engine = None,
    parts: Parts = None,
) -> None:
    from prosector.config.decoding import decoding_from
    from prosector.config.folder import PictureFolder, SegmentingFolder, WriterFolder
    from prosector.data.corpus import read_pairs
    from prosector.decoding import find_model
    from prosector.decoding.folder_config import read_config
    from prosector.evaluation.evaluate import evaluate as judged

    options.load(parts)
    config = read_config(find_model(model))
    if engine and config.kind != "transformer":
        raise ValueError(f"--engine {engine} translates; {model} is of the kind {config.kind}")
    if isinstance(config, WriterFolder):
        say_text(model, data, limit, json_file)
        return
    if isinstance(config, SegmentingFolder):
        say_places(model, data, json_file)
        return
    if isinstance(config, PictureFolder):
        say_pictures(model, data, json_file)
        return
    if shows := named_data(data):
        raise ValueError(f"--data {data} is {shows}, and {model} is of the kind {config.kind}: give sentence pairs")
    decoding = decoding_from(None, {"beam": beam})
    translator = options.translator_of(model, engine or "pytorch")
    languages = translator.config.source, translator.config.target
    pairs = read_pairs(corpus(data, columns, languages), *languages)[:limit]
    say(f"translating {len(pairs):,} sentences")
    result = judged(translator, pairs, decoding)

    has_loss = engine in (None, "pytorch")  # other engines give no log p of a reference
    left_out = {"translations", *(() if has_loss else ("loss", "perplexity", "n_too_long", "n_tokens"))}
    figures = {
        "model": model,
        "data": data,
        "direction": "-".join(languages),
        "beam": decoding.size,
        **({"engine": engine} if engine else {}),
        **{name: value for name, value in result._asdict().items() if name not in left_out},
    }
    if output:
        with whole_file(output) as file:
            for pair, translation in zip(pairs, result.translations, strict=True):
                file.write("\t".join(re.sub(r"[\t\r\n]+", " ", text) for text in (*pair, translation)) + "\n")
    if not written_as_json(figures, json_file):
        print(table(figures, result))


def named_data(name: str) -> str | None:
    """What a data set that goes by a name is of; None for a file."""
    from prosector.data.pictures import TABLES

    if Path(name).exists():
        return None
    return "pictures of classes" if name in TABLES else "pictures with masks" if name in ("nuclei", "brain") else None


def say_text(model: str, data: str, limit: int | None, json_file: Path | None) -> None:
    """How surprised a model that writes is by a text."""
    from prosector.cli.corpora import text
    from prosector.data.texts import read_lines
    from prosector.decoding import find_model
    from prosector.decoding.folder import read_writer
    from prosector.evaluation.texts import surprise_at

    config, gpt, tokenizer = read_writer(find_model(model))
    config.model.special.require_ours("measuring")
    lines = read_lines(text(data))[:limit]
    say(f"reading {len(lines):,} lines")
    found = surprise_at(gpt, lines, tokenizer, config.context)
    figures = {
        "model": model,
        "data": data,
        "n_lines": len(lines),
        **found._asdict(),
        "bits_per_byte": found.bits_per_byte,
        "loss": found.loss,
        "perplexity": found.perplexity,
    }
    if written_as_json(figures, json_file):
        return
    rows = [
        ("model", f"{model}, {config.kind}"),
        ("data", f"{data}, {len(lines):,} lines, {found.n_bytes:,} bytes, {found.n_tokens:,} tokens"),
        ("bits", f"{found.bits_per_byte:.3f} a byte"),
        ("loss", f"{found.loss:.3f} nats a token, perplexity {found.perplexity:.2f}"),
    ]
    print(aligned(rows))


def say_pictures(model: str, data: str, json_file: Path | None) -> None:
    """How many of the held-out pictures of a data set, or of all in a folder, a model classes right."""
    from prosector.config.pictures import PicturesConfig
    from prosector.data.pictures import TABLES, read_pictures, split
    from prosector.decoding import find_model
    from prosector.decoding.classifier import Classifier
    from prosector.evaluation.classes import classed

    classifier = Classifier.load(find_model(model))
    pictures = read_pictures(data)
    unseen = data == classifier.config.source and data in TABLES
    if unseen:
        pictures = split(pictures, PicturesConfig(source=data, test=classifier.config.test, dev=1)).test
    if pictures.classes != classifier.config.classes:
        raise ValueError(f"{model} knows the classes {', '.join(classifier.config.classes)}, not those of {data}")
    found = classed(classifier.logits, pictures.values, pictures.labels)
    figures = {
        "model": model,
        "data": data,
        "n_pictures": len(pictures),
        "accuracy": found.accuracy,
        "loss": found.loss,
    }
    if written_as_json(figures, json_file):
        return
    rows = [
        ("model", f"{model}, {classifier.config.kind}"),
        ("data", f"{data}, {len(pictures):,} pictures{' that it never saw' * unseen}"),
        ("right", f"{100 * found.accuracy:.2f} %"),
        ("loss", f"{found.loss:.3f} nats a picture"),
    ]
    print(aligned(rows))


def say_places(model: str, data: str, json_file: Path | None) -> None:
    """How well a model's masks agree with those of the pieces that it never saw."""
    from prosector.data.masks import read_masks
    from prosector.decoding import find_model
    from prosector.decoding.segmenter import Segmenter
    from prosector.evaluation.overlap import of_classes

    segmenter, parts = Segmenter.load(find_model(model)), read_masks(data)
    if parts.names != segmenter.config.classes:
        raise ValueError(f"{model} knows the classes {', '.join(segmenter.config.classes)}, not those of {data}")
    found = [segmenter.classes(segmenter.chances(piece.picture[None]))[0] for piece in parts.test]
    overlaps = of_classes(found, [piece.classes for piece in parts.test], len(parts.names))
    named = dict(zip(parts.names[1:], overlaps, strict=True))
    scores = {name: overlap._asdict() for name, overlap in named.items()}
    if written_as_json({"model": model, "data": data, "n_pieces": len(parts.test), "scores": scores}, json_file):
        return
    rows = [("model", f"{model}, {segmenter.config.kind}")]
    rows += [("data", f"{data}, {len(parts.test)} pieces that it never saw")]
    rows += [(name, f"Dice {overlap.dice:.4f}   IoU {overlap.iou:.4f}") for name, overlap in named.items()]
    print(aligned(rows))


def written_as_json(figures: dict[str, object], file: Path | None) -> bool:
    """Write the figures to a file, or to stdout if it is -; whether that was stdout."""
    if file is None:
        return False
    text = json.dumps(figures, indent=2, ensure_ascii=False) + "\n"
    if file == Path("-"):
        print(text, end="")
        return True
    with whole_file(file) as opened:
        opened.write(text)
    return False


def table(figures: dict[str, object], result: Evaluation) -> str:
    """The figures as people read them."""
    left_out = f" ({result.n_too_long:,} longer pairs left out)" if result.n_too_long else ""
    rows = [
        ("model", f"{figures['model']}, {figures['direction']}, beam {figures['beam']}"),
        ("data", f"{figures['data']}, {result.n_pairs:,} pairs"),
        ("BLEU", f"{result.bleu:.2f}   {result.bleu_signature}"),
        ("chrF", f"{result.chrf:.2f}   {result.chrf_signature}"),
        ("loss", f"{result.loss:.3f} nats a token, perplexity {result.perplexity:.2f}{left_out}"),
        ("speed", f"{result.tokens_per_second:,.0f} tokens/s, {result.seconds:.1f} s"),
    ]
    if "loss" not in figures:
        rows = [row for row in rows if row[0] != "loss"]
    if "engine" in figures:
        rows[0] = ("model", f"{rows[0][1]}, by {figures['engine']}")
    return aligned(rows)


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Names, and beside them what they are."""
    width = max(7, *(len(name) + 2 for name, _ in rows))
    return "\n".join(f"{name:<{width}}{value}" for name, value in rows)
