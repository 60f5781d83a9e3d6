"""`prosector fill`: what may stand where a text has a gap."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from prosector.cli import options
from prosector.cli.lines import standard_input
from prosector.cli.options import Parts

if TYPE_CHECKING:
    from prosector.decoding.reader import Reader

HELP = """Fill gaps: for each [MASK] of a text, what may stand there and how probable it is.

A gap is one piece of a word, or a whole one if it is frequent; the text with all gaps filled comes first. - reads
standard input, each line a text of its own; a blank one stays one, and with --json each has a line.

\b
Examples:
  prosector fill --model runs/bert '我[MASK]深度学习'
  prosector fill --model runs/bert 'I [MASK] deep learning.' --top 3
  prosector fill --model runs/bert - < texts.txt
  prosector fill --model runs/bert --json '他[MASK]在[MASK]。'
"""

Text = Annotated[str, typer.Argument(metavar="TEXT", help="With [MASK] where a word is wanted; - is stdin.")]
Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Top = Annotated[int, typer.Option(metavar="N", min=1, help="The N likeliest of each gap.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def fill(text: Text, model: Model, top: Top = 5, as_json: Json = False, parts: Parts = None) -> None:
    from prosector.decoding.installed import find_model
    from prosector.decoding.reader import Reader

    options.load(parts)
    reader = Reader.load(find_model(model))
    show = show_json if as_json else show_lines
    if text != "-":
        show(reader, text, top, indent=2)
        return
    for line in (line for chunk in standard_input() for line in chunk):
        if line.strip():
            show(reader, line, top, indent=None)
        else:
            print()
        sys.stdout.flush()


def show_json(reader: Reader, text: str, top: int, indent: int | None) -> None:
    """The filled text and the guesses as JSON."""
    found = [[guess._asdict() for guess in gap.guesses] for gap in reader.fill(text, top)]
    print(json.dumps({"text": reader.filled(text), "gaps": found}, indent=indent, ensure_ascii=False))


def show_lines(reader: Reader, text: str, top: int, indent: int | None) -> None:
    """The filled text, and a line for each gap."""
    gaps = reader.fill(text, top)
    print(reader.filled(text))
    for number, gap in enumerate(gaps, start=1):
        print("\t".join([str(number), *(f"{guess.name} {guess.probability:.3f}" for guess in gap.guesses)]))
