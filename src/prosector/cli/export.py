"""`prosector export`: a model of ours becomes a folder that other libraries load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

HELP = """Write a model as a folder that another library loads.

A translator becomes a Marian, a GPT a GPT-2, Llama or Qwen2, a BERT a BERT and a ViT a ViT, where their classes can
express it; if not, the fields that stand in the way are named.

\b
Examples:
  prosector export --model runs/mine --out runs/mine-hf
"""

Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]
To = Annotated[Literal["hugging-face"], typer.Option("--to", help="The library.")]


def export(model: Model, out: Out, to: To = "hugging-face") -> None:
    from prosector.cli.console import say
    from prosector.config.folder import PictureFolder, SegmentingFolder
    from prosector.decoding.folder import read_config, with_weights
    from prosector.decoding.installed import find_model
    from prosector.interop.hugging_face.exporting import export_folder
    from prosector.text import load_tokenizers

    folder = find_model(model)
    config: Any = read_config(folder)
    pictures = isinstance(config, PictureFolder | SegmentingFolder)
    tokenizers = () if pictures else load_tokenizers(folder)
    export_folder(config, with_weights(folder, config.model), tokenizers, out)
    say(f"{out}: transformers' from_pretrained loads it")
