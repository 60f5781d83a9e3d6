"""`prosector fill`: what may stand where a text has a gap."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from prosector.cli import options
from prosector.cli.options import Parts

HELP = """Fill gaps: for each [MASK] of a text, what may stand there and how probable it is.

A gap is one piece of a word, or a whole one if it is frequent; the text with all gaps filled comes first.

\b
Examples:
  prosector fill --model runs/bert '我[MASK]深度学习'
  prosector fill --model runs/bert 'I [MASK] deep learning.' --top 3
  prosector fill --model runs/bert --json '他[MASK]在[MASK]。'
"""

Text = Annotated[str, typer.Argument(metavar="TEXT", help="With [MASK] where a word is wanted.")]
Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Top = Annotated[int, typer.Option(metavar="N", min=1, help="The N likeliest of each gap.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def fill(text: Text, model: Model, top: Top = 5, as_json: Json = False, parts: Parts = None) -> None:
    from prosector.decoding.installed import find_model
    from prosector.decoding.reader import Reader

    options.load(parts)
    reader = Reader.load(find_model(model))
    gaps = reader.fill(text, top)
    if as_json:
        found = [[guess._asdict() for guess in gap.guesses] for gap in gaps]
        print(json.dumps({"text": reader.filled(text), "gaps": found}, indent=2, ensure_ascii=False))
        return
    print(reader.filled(text))
    for number, gap in enumerate(gaps, start=1):
        print("\t".join([str(number), *(f"{guess.name} {guess.probability:.3f}" for guess in gap.guesses)]))
