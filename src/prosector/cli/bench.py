"""`prosector bench`: how fast, against whom, on this machine."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from prosector.cli.console import Doing, say
from prosector.cli.lines import whole_file

if TYPE_CHECKING:
    from prosector.bench.contest import Contest
    from prosector.bench.report import Table
    from prosector.data.corpus import Pair
    from prosector.training.precision import Precision

HELP = """Translate with our native core and with CTranslate2, taking turns, and say who writes more tokens a second.

MODEL is small or base, random weights that write 25 tokens for 25; or a translator, with --data and its real
sentences. Each contender plays at all its settings, in int8. What they write is compared with our float32 model first.
Beside them, what this machine can do at most. Let nothing else run.

--training trains small or base: ours against torch.nn, Hugging Face's Marian and x-transformers, all in float32 and
in bf16 where the machine has it, with the allocator of memory as it is and tuned. Each turn is a process of its own;
who is far behind the fastest in the first round takes no other. --tokenising cuts up sentences with a translator's
vocabularies: ours against SentencePiece and Hugging Face. --long times attention over long lines. JoeyNMT takes part in
training and translating if --joeynmt names a Python that has it (benchmarks/joeynmt.sh makes one).

Needs the native core, and pip install 'prosector[bench]'.

\b
Examples:
  prosector bench
  prosector bench small --beam 1,5 --sentences 1,32,128 --figure bench.png
  prosector bench zh-en --data pairs.tsv --sentences 128 --everybody --json bench.json
  prosector bench --training small base --seconds 60
  prosector bench --tokenising zh-en --data pairs.tsv
  prosector bench --long --length 8192
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
Everybody = Annotated[bool, typer.Option("--everybody", help="PyTorch and Hugging Face too, in float32 and bf16.")]
JoeyNMT = Annotated[Path | None, typer.Option("--joeynmt", metavar="PYTHON", help="JoeyNMT too: a Python that has it.")]
Training = Annotated[bool, typer.Option("--training", help="A step of training instead; MODEL is small or base.")]
Types = Annotated[str | None, typer.Option("--precision", metavar="T,T", help="Of --training: float32, bf16.")]
Tokenising = Annotated[bool, typer.Option("--tokenising", help="Cutting up sentences instead.")]
Long = Annotated[bool, typer.Option("--long", help="Attention over long lines instead; it takes no MODEL.")]
Length = Annotated[int, typer.Option(metavar="N", min=128, help="Tokens of --long.")]
Json = Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all figures here.")]
Figure = Annotated[Path | None, typer.Option("--figure", metavar="FILE", help="Draw it: .png, .pdf or .svg.")]


class Race(NamedTuple):
    """What kind of contests there are, and their records as they are measured."""

    kind: str
    records: Iterator[dict[str, Any]]


def bench(
    models: Models = None,
    data: Data = None,
    columns: Columns = "en,zh",
    beam: Beams = "1,5",
    sentences: Sentences = "1,32",
    seconds: Seconds = 5.0,
    threads: Threads = None,
    everybody: Everybody = False,
    joeynmt: JoeyNMT = None,
    training: Training = False,
    precision: Types = None,
    tokenising: Tokenising = False,
    long: Long = False,
    length: Length = 8192,
    json_file: Json = None,
    figure: Figure = None,
) -> None:
    import torch

    from prosector.bench.figure import checked, draw
    from prosector.bench.machine import ceilings, described
    from prosector.bench.report import bars, tables
    from prosector.cli.evaluate import aligned

    if figure:
        checked(figure)
    if json_file and not json_file.parent.is_dir():
        raise FileNotFoundError(f"--json {json_file}: there is no folder {json_file.parent}")
    if joeynmt and not shutil.which(joeynmt):
        raise FileNotFoundError(f"--joeynmt {joeynmt}: there is no such program; benchmarks/joeynmt.sh makes one")
    threads = threads or torch.get_num_threads()
    if training + tokenising + long > 1:
        raise ValueError("--training, --tokenising and --long are contests of their own: give one")
    if long:
        race = long_race(models, length, threads)
    elif training:
        race = training_race(models or ["small"], seconds, precision, joeynmt)
    elif tokenising:
        race = tokenising_race(models or ["zh-en"], data, columns, threads, seconds)
    else:
        beams, numbers = whole_numbers("--beam", beam), whole_numbers("--sentences", sentences)
        contests = [contest_of(name, data, columns, max(numbers)) for name in models or ["small"]]
        race = decoding_race(contests, beams, numbers, threads, seconds, everybody, joeynmt)
    torch.set_num_threads(threads)
    say("measuring what the machine can do at most")
    machine, most = described(), ceilings()
    print(aligned([("machine", machine["processor"]), *((name, str(rate)) for name, rate in most.items())]))
    records = []
    for record in race.records:
        records.append(record)
        print(*map(shown, tables(race.kind, record)), sep="\n", flush=True)
    if json_file:
        found = {"machine": machine, "ceilings": {name: rate._asdict() for name, rate in most.items()}}
        with whole_file(json_file) as file:
            file.write(json.dumps(found | {race.kind: records}, indent=1, ensure_ascii=False) + "\n")
    if figure:
        draw(figure, [bars(race.kind, record) for record in records])


def decoding_race(
    contests: list[Contest],
    beams: list[int],
    numbers: list[int],
    threads: int,
    seconds: float,
    everybody: bool,
    joeynmt: Path | None,
) -> Race:
    """Every model with every beam and number of sentences."""
    from prosector.bench import decoding

    def records() -> Iterator[dict[str, Any]]:
        for contest, size, n in product(contests, beams, numbers):
            say(f"{contest.name}, beam {size}, {n} at once")
            result = decoding.run(contest.first(n), size, threads, seconds, everybody, joeynmt)
            for name, why in result.left_out.items():
                say(f"{name} does not take part: {why}")
            yield result.record()

    return Race("decoding", records())


def training_race(sizes: list[str], seconds: float, types: str | None, joeynmt: Path | None) -> Race:
    """A step of training in every size.

    Raises:
        ValueError: there is no such size, or no such type.
    """
    from prosector.bench import contest, training

    if unknown := [size for size in sizes if size not in contest.SIZES]:
        raise ValueError(f"--training {unknown[0]}: give {' or '.join(contest.SIZES)}")
    wanted: list[Any] = types.split(",") if types else list(training.precisions())
    known: tuple[Precision, ...] = ("float32", "bf16")
    if other := [name for name in wanted if name not in known]:
        raise ValueError(f"--precision {other[0]!r}: give {' or '.join(known)}, or both with a comma between")

    def records() -> Iterator[dict[str, Any]]:
        for size in sizes:
            with Doing(sys.stderr) as doing:
                result = training.run(size, seconds, wanted, joeynmt, partial(told, doing, size))
            yield result.record()

    def told(doing: Doing, size: str, name: str, turn: int, turns: int) -> None:
        doing.count(f"{size}: {name}", turn, turns)

    return Race("training", records())


def tokenising_race(models: list[str], data: str | None, columns: str, threads: int, seconds: float) -> Race:
    """Both sides of the sentences with both vocabularies of every translator.

    Raises:
        ValueError: there are no sentences, or a vocabulary is not of pieces.
    """
    from prosector.bench import tokenising
    from prosector.decoding import load
    from prosector.text.pieces import PieceTokenizer

    contests = []
    for name in models:
        config, pairs = sentences_of(name, data, columns)
        translator: Any = load(name)
        for tokenizer, texts, language in (
            (translator.source, [pair.source for pair in pairs], config.source),
            (translator.target, [pair.target for pair in pairs], config.target),
        ):
            if not isinstance(tokenizer, PieceTokenizer):
                raise ValueError(f"{name} has words or characters; --tokenising compares vocabularies of pieces")
            contests.append((f"{name}, {language}", tokenizer, texts))
    return Race("tokenising", (tokenising.run(*contest, threads, seconds).record() for contest in contests))


def long_race(models: list[str] | None, length: int, threads: int) -> Race:
    """Attention over one long line.

    Raises:
        ValueError: a model was named.
    """
    from prosector.bench import long

    if models:
        raise ValueError(f"--long takes no model: leave {' '.join(models)} out")
    return Race("long", (long.run(length, threads) for _ in range(1)))


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

    if name in SIZES:
        return made_up(name, n)
    pairs = sentences_of(name, data, columns)[1][:n]
    if len(pairs) < n:
        raise ValueError(f"{data} has {len(pairs)} pairs, and --sentences asks for {n}")
    return real(name, pairs)


def sentences_of(name: str, data: str | None, columns: str) -> tuple[Any, list[Pair]]:
    """A translator's config, and sentence pairs in its languages.

    Raises:
        ValueError: it is no translator of the kind transformer, or there are no sentences.
    """
    from prosector.cli.corpora import corpus
    from prosector.data.corpus import read_pairs
    from prosector.decoding import find_model
    from prosector.decoding.folder_config import read_config

    config: Any = read_config(find_model(name))
    if config.kind != "transformer":
        raise ValueError(f"{name} is of the kind {config.kind}; bench times translators of the kind transformer")
    if data is None:
        raise ValueError(f"what shall {name} translate? give --data FILE with sentence pairs")
    languages = config.source, config.target
    return config, list(read_pairs(corpus(data, columns, languages), *languages))


def shown(table: Table) -> str:
    """A title, and below it rows whose columns are aligned."""
    title, head, rows = table.told()
    lines = [head, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    body = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines)
    return "\n".join([f"\n{title}", *body])
