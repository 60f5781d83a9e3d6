"""`prosector bench`: how fast, against whom, on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prosector.cli.console import say
from prosector.cli.lines import whole_file

if TYPE_CHECKING:
    from prosector.bench.contest import Contest

Race = tuple[dict[str, Any], str]  # what was measured, and how people read it

HELP = """Translate with our native core and with CTranslate2, taking turns, and say who writes more tokens a second.
With --training, train: ours against torch.nn and Hugging Face's Marian.

MODEL is small or base, random weights that write 25 tokens for 25; or a translator, with --data and its real
sentences. Each contender plays at all its settings, in int8. What they write is compared with our float32 model first.
Beside them, what this machine can do at most. Let nothing else run.

Needs the native core, and pip install 'prosector[ctranslate2]'; --everybody and --training 'prosector[hf]'.

\b
Examples:
  prosector bench
  prosector bench small --beam 1,5 --sentences 1,32,128
  prosector bench zh-en --data pairs.tsv --sentences 128 --json bench.json
  prosector bench --training small base --seconds 60
"""

Models = Annotated[list[str] | None, typer.Argument(metavar="MODEL", help="small, base, a name or a folder.")]
Data = Annotated[str | None, typer.Option("--data", metavar="FILE", help="Sentence pairs, for a translator.")]
Columns = Annotated[str, typer.Option(metavar="NAMES", help="What the columns of a table hold.")]
Beams = Annotated[str, typer.Option("--beam", metavar="N,N", help="1 is greedy.")]
Sentences = Annotated[str, typer.Option(metavar="N,N", help="How many at once.")]
Seconds = Annotated[float, typer.Option(metavar="S", min=0.1, help="For each table.")]
Threads = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="For all; as many as there are cores if not given.")
]
Everybody = Annotated[bool, typer.Option("--everybody", help="PyTorch and Hugging Face too.")]
Training = Annotated[bool, typer.Option("--training", help="A step of training instead; MODEL is small or base.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures here.")]


def bench(
    models: Models = None,
    data: Data = None,
    columns: Columns = "en,zh",
    beam: Beams = "1,5",
    sentences: Sentences = "1,32",
    seconds: Seconds = 5.0,
    threads: Threads = None,
    everybody: Everybody = False,
    training: Training = False,
    json_file: Json = None,
) -> None:
    import torch

    from prosector.bench.machine import ceilings, described
    from prosector.cli.evaluate import aligned

    names, threads = models or ["small"], threads or torch.get_num_threads()
    if training:
        races = training_races(names, seconds)
    else:
        beams, numbers = whole_numbers("--beam", beam), whole_numbers("--sentences", sentences)
        contests = [contest_of(name, data, columns, max(numbers)) for name in names]
        races = decoding_races(contests, beams, numbers, threads, seconds, everybody)
    torch.set_num_threads(threads)
    say("measuring what the machine can do at most")
    machine, most = described(), ceilings()
    print(aligned([("machine", machine["processor"]), *((name, str(rate)) for name, rate in most.items())]))
    records = []
    for record, shown in races:
        records.append(record)
        print(shown, flush=True)
    if json_file:
        figures = {"machine": machine, "ceilings": {name: rate._asdict() for name, rate in most.items()}}
        with whole_file(json_file) as file:
            kind = "training" if training else "decoding"
            file.write(json.dumps(figures | {kind: records}, indent=1, ensure_ascii=False) + "\n")


def decoding_races(
    contests: list[Contest], beams: list[int], numbers: list[int], threads: int, seconds: float, everybody: bool
) -> Iterator[Race]:
    """Every model with every beam and number of sentences: what was measured, and how people read it."""
    from prosector.bench import decoding

    for contest, size, n in product(contests, beams, numbers):
        say(f"{contest.name}, beam {size}, {n} at once")
        result = decoding.run(contest.first(n), size, threads, seconds, everybody)
        head = ("", "tokens/s, median (quartiles)", "× best of CTranslate2", "as float32", "BLEU")
        title = f"{result.model}, beam {size}, {n} at once: ours is {result.ratio:.2f} × as fast as CTranslate2"
        yield result.record(), table(title, [head, *decoding.rows(result)])


def training_races(sizes: list[str], seconds: float) -> Iterator[Race]:
    """A step of training in every size: what was measured, and how people read it.

    Raises:
        ValueError: there is no such size.
    """
    from prosector.bench import contest, training

    if unknown := [size for size in sizes if size not in contest.SIZES]:
        raise ValueError(f"--training {unknown[0]}: give {' or '.join(contest.SIZES)}")
    return (trained(training.run(size, seconds)) for size in sizes)


def trained(result: Any) -> Race:
    """A race in training, for JSON and for people."""
    head = ("", "target tokens/s, median (quartiles)", "× best peer", "GFLOP/s", "untrained loss")
    rows = [
        (name, str(rate), f"{rate.median / result.best:.2f} ×", f"{rate.median * result.gflop:,.0f}", f"{loss:.3f}")
        for (name, rate), loss in zip(result.rates.items(), result.losses.values(), strict=True)
    ]
    title = f"{result.size}, {result.precision}: ours is {result.ratio:.2f} × as fast as the best peer"
    return result.record(), table(title, [head, *sorted(rows, key=lambda row: -float(row[2].split()[0]))])


def whole_numbers(option: str, text: str) -> list[int]:
    """The numbers of an option.

    Raises:
        ValueError: one is no number above 0.
    """
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"{option} {text!r}: give whole numbers above 0, with commas between")
    return [int(part) for part in parts]


def contest_of(name: str, data: str | None, columns: str, n: int) -> Contest:
    """A size with made-up sentences, or a translator with real ones.

    Raises:
        ValueError: a translator without sentences.
    """
    from prosector.bench.contest import SIZES, made_up, real
    from prosector.cli.corpora import corpus
    from prosector.data.corpus import read_pairs
    from prosector.decoding import find_model
    from prosector.decoding.folder_config import read_config

    if name in SIZES:
        return made_up(name, n)
    config: Any = read_config(find_model(name))
    if config.kind != "transformer":
        raise ValueError(f"{name} is of the kind {config.kind}; bench times translators of the kind transformer")
    if data is None:
        raise ValueError(f"what shall {name} translate? give --data FILE with sentence pairs")
    languages = config.source, config.target
    pairs = read_pairs(corpus(data, columns, languages), *languages)[:n]
    if len(pairs) < n:
        raise ValueError(f"{data} has {len(pairs)} pairs, and --sentences asks for {n}")
    return real(name, pairs)


def table(title: str, lines: list[tuple[str, ...]]) -> str:
    """A title, and below it rows whose columns are aligned; a last column without anything is left out."""
    if not any(line[-1] for line in lines[1:]):
        lines = [line[:-1] for line in lines]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    body = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([f"\n{title}", *body])
