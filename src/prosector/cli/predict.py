"""`prosector predict`: what a picture is of."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from prosector.cli import options
from prosector.cli.options import Parts

HELP = """Say what pictures are of: one line for each file, its likeliest classes and how probable they are.

\b
Examples:
  prosector predict --model runs/vit seven.png
  prosector predict --model runs/vit --top 3 --invert scans/*.png
  prosector predict --model runs/vit --json seven.png
"""

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Pictures.")]
Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Top = Annotated[int, typer.Option(metavar="N", min=1, help="The N likeliest classes.")]
Invert = Annotated[bool, typer.Option("--invert", help="Exchange dark and light first.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def predict(
    files: Files,
    model: Model,
    top: Top = 1,
    invert: Invert = False,
    as_json: Json = False,
    parts: Parts = None,
) -> None:
    from prosector.decoding.classifier import Classifier
    from prosector.decoding.installed import find_model

    options.load(parts)
    found = Classifier.load(find_model(model)).predict(files, top, invert)
    if as_json:
        rows = [
            {"file": file, "classes": [guess._asdict() for guess in best]}
            for file, best in zip(files, found, strict=True)
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for file, best in zip(files, found, strict=True):
        print("\t".join([file, *(f"{guess.name} {guess.probability:.3f}" for guess in best)]))
