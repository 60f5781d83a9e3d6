"""`prosector export`: a model of ours becomes a folder that other libraries load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

HELP = """Write a model as a folder that another library loads.

To hugging-face, a translator becomes a Marian (the recipe marian trains one that it can express), a GPT a GPT-2, Llama
or Qwen2, a BERT a BERT and a ViT a ViT. To ctranslate2 or onnx, a translator becomes a folder that prosector translate
--engine uses, for which pip install 'prosector[ctranslate2]' or 'prosector[onnx]' is needed. Fields that cannot be
expressed are named.

\b
Examples:
  prosector export --model runs/mine --out runs/mine-hf
  prosector export --model zh-en --to ctranslate2 --quantization int8 --out runs/zh-en-int8
  prosector export --model zh-en --to onnx --out runs/zh-en-onnx
"""

Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.")]
To = Annotated[Literal["hugging-face", "ctranslate2", "onnx"], typer.Option("--to", help="The library.")]
Quantized = Annotated[
    Literal["int8", "float32"] | None, typer.Option("--quantization", help="Of ctranslate2. [default: float32]")
]


def export(model: Model, out: Out, to: To = "hugging-face", quantization: Quantized = None) -> None:
    from prosector.cli.console import say
    from prosector.decoding.installed import find_model

    if quantization and to != "ctranslate2":
        raise ValueError(f"--quantization {quantization} is for --to ctranslate2 alone; leave it out of --to {to}")
    folder = find_model(model)
    if to == "hugging-face":
        to_hugging_face(folder, out)
        say(f"{out}: transformers' from_pretrained loads it")
        return
    from prosector.interop.engines import export_ctranslate2, export_onnx

    if to == "ctranslate2":
        export_ctranslate2(folder, out, quantization or "float32")
    else:
        export_onnx(folder, out)
    say(f"{out}: prosector translate --engine {to} --model {out} uses it")


def to_hugging_face(folder: Path, out: Path) -> None:
    """Write a model of any family for transformers."""
    from prosector.config.folder import PictureFolder, SegmentingFolder
    from prosector.decoding.folder import with_weights
    from prosector.decoding.folder_config import read_config
    from prosector.interop.hugging_face.exporting import export_folder
    from prosector.text import load_tokenizers

    config: Any = read_config(folder)
    pictures = isinstance(config, PictureFolder | SegmentingFolder)
    tokenizers = () if pictures else load_tokenizers(folder)
    export_folder(config, with_weights(folder, config.model), tokenizers, out)
