"""`prosector import`: a model of Hugging Face's becomes a folder that every command takes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

HELP = """Read a Hugging Face model, and write it as a model of ours.

MODEL is a folder with config.json, safetensors and tokenizer, or a name on the Hub (needs pip install 'prosector[hf]').
Marian becomes a translator, GPT-2, Llama, Qwen2 and BLOOM write, BERT fills gaps, ViT classes pictures.

\b
Examples:
  prosector import Helsinki-NLP/opus-mt-zh-en --out runs/opus
  prosector import downloads/gpt2 --out runs/gpt2
  prosector generate --model runs/gpt2 'I think that'
"""

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A folder, or a name on the Hub.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]

USED_BY = {"gpt": "generate", "bert": "fill", "vit": "predict", "transformer": "translate"}


def import_(model: Model, out: Out) -> None:
    from prosector.cli.console import say
    from prosector.interop.hugging_face.folder import import_folder

    whole = import_folder(model, out)
    say(f"{out}: {whole.config.kind}; prosector {USED_BY[whole.config.kind]} --model {out} uses it")
