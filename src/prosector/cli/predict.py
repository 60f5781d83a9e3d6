"""`prosector predict`: what a picture is of, or what is where in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from prosector.cli import options
from prosector.cli.options import Parts

HELP = """Say what pictures are of: one line for each file, its likeliest classes and how probable they are.

A model that classes every place (unet, attention-unet) says how much of each picture is of which class; --output
writes the mask as a picture, class 0 black and the last one white.

\b
Examples:
  prosector predict --model runs/vit seven.png
  prosector predict --model runs/vit --top 3 --invert scans/*.png
  prosector predict --model runs/vit --json seven.png
  prosector predict --model runs/unet cells.png --output mask.png
"""

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Pictures.")]
Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Top = Annotated[int, typer.Option(metavar="N", min=1, help="The N likeliest classes.")]
Invert = Annotated[bool, typer.Option("--invert", help="Exchange dark and light first.")]
Output = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write the picture's mask here.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


def predict(
    files: Files,
    model: Model,
    top: Top = 1,
    invert: Invert = False,
    output: Output = None,
    as_json: Json = False,
    parts: Parts = None,
) -> None:
    from prosector.config.folder import SegmentingFolder
    from prosector.decoding.classifier import Classifier
    from prosector.decoding.folder_config import read_config
    from prosector.decoding.installed import find_model

    options.load(parts)
    folder = find_model(model)
    if isinstance(read_config(folder), SegmentingFolder):
        show_places(folder, files, output, as_json)
        return
    if output:
        raise ValueError("--output is for models that class every place; this one classes whole pictures")
    found = Classifier.load(folder).predict(files, top, invert)
    if as_json:
        rows = [
            {"file": file, "classes": [guess._asdict() for guess in best]}
            for file, best in zip(files, found, strict=True)
        ]
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for file, best in zip(files, found, strict=True):
        print("\t".join([file, *(f"{guess.name} {guess.probability:.3f}" for guess in best)]))


def show_places(folder: Path, files: Sequence[str], output: Path | None, as_json: bool) -> None:
    """How much of each picture is of which class, and the mask as a picture."""
    from prosector.decoding.segmenter import Segmenter

    if output:
        check_output(output, files)
    segmenter = Segmenter.load(folder)
    rows = []
    for file in files:
        classes = segmenter.predict(file)
        shares = (classes.flatten().bincount(minlength=len(segmenter.config.classes)) / classes.numel()).tolist()
        rows.append({"file": file, "shares": dict(zip(segmenter.config.classes, shares, strict=True))})
        if output:
            write_mask(output, classes.numpy(), len(segmenter.config.classes))
    if as_json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    for row in rows:
        print("\t".join([str(row["file"]), *(f"{name} {share:.3f}" for name, share in row["shares"].items())]))  # type: ignore[attr-defined]


def check_output(output: Path, files: Sequence[str]) -> None:
    """Raises ValueError if a mask cannot be written there, or would replace the picture it is of."""
    if len(files) > 1:
        raise ValueError(f"--output takes the mask of one picture, and there are {len(files)}")
    if output.suffix.lower() != ".png":
        raise ValueError(f"--output {output}: a mask is written as .png, which loses nothing")
    if not output.resolve().parent.is_dir():
        raise ValueError(f"--output {output}: there is no folder {output.parent}")
    if output.resolve() == Path(files[0]).resolve():
        raise ValueError(f"--output {output}: that is the picture itself, which would be lost; choose another name")


def write_mask(path: Path, classes: Any, n_classes: int) -> None:
    """A mask as a grey picture, class 0 black and the last one white; written whole or not at all."""
    from PIL import Image

    from prosector.models.weights import replace_file

    image = Image.fromarray((classes * 255 / (n_classes - 1)).round().astype("uint8"))
    replace_file(path, lambda temporary: image.save(temporary, format="PNG"))
