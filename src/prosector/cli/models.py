"""`prosector models`: what is installed, and which kinds of model there are."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Annotated

import typer

HELP = """List the installed models, or with --kinds the kinds of model.

Every command takes an installed model's name, or the folder of any model.

\b
Examples:
  prosector models
  prosector models --kinds
"""

KINDS = {  # what each is for, and the command that uses it
    "transformer": ("translate", "the encoder-decoder Transformer: reads a text, writes another"),
    "gpt": ("generate", "decoder only: goes on with a text"),
    "bert": ("fill", "encoder only: fills gaps"),
    "vit": ("predict", "a Transformer on the patches of a picture"),
    "conv-transformer": ("predict", "a Transformer with convolutions"),
    "rnn": ("translate", "two recurrent networks, joined by one vector"),
    "rnn-attention": ("translate", "the same with additive attention"),
    "unet": ("predict", "from a picture to the class of every place, with skip connections"),
    "attention-unet": ("predict", "the same with a gate on every skip connection"),
}

LANGUAGES = {"zh": "Chinese", "en": "English"}

Kinds = Annotated[bool, typer.Option("--kinds", help="List the kinds of model, and the command that uses each.")]


def models(kinds: Kinds = False) -> None:
    if kinds:
        print(table_of_kinds())
        return
    from prosector.decoding.installed import installed_models

    installed = installed_models()
    if not installed:
        print("no models are installed; give commands the folder of a model that you trained")
    for name, folder in installed.items():
        print(described(name, folder))


def table_of_kinds() -> str:
    """Every kind of model, the command that uses it, and what it is."""
    return "\n".join(f"{kind:<18}{verb:<11}{what}" for kind, (verb, what) in KINDS.items())


def described(name: str, folder: Path) -> str:
    """A model in two or three lines."""
    from safetensors import safe_open

    from prosector.config.folder import TranslatorFolder
    from prosector.decoding.folder_config import read_config

    config = read_config(folder)
    with safe_open(folder / "model.safetensors", framework="numpy") as weights:
        n_weights = sum(math.prod(weights.get_slice(key).get_shape()) for key in weights.keys())  # noqa: SIM118
    size = sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
    direction = (
        f"{LANGUAGES[config.source]} to {LANGUAGES[config.target]}, " if isinstance(config, TranslatorFolder) else ""
    )
    what = f"{direction}{config.kind}, {n_weights:,} weights"
    lines = [f"{what}, {size / 2**20:.1f} MiB", figures_in(folder / "README.md"), str(folder)]
    return f"{name:<18}" + f"\n{'':<18}".join(filter(None, lines))


def figures_in(readme: Path) -> str:
    """The scores of the weights that were kept, from the table in a model's README; nothing if it has none."""
    lines = readme.read_text("utf-8").splitlines() if readme.is_file() else []
    head = next((line for line in lines if re.match(r"\| *weights *\|", line)), "")
    kept = next((line for line in lines if re.match(r"\|[^|]*\(kept\) *\|", line)), "")
    names, values = ([cell.strip() for cell in line.split("|")[3:-1]] for line in (head, kept))
    scores = ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=False))
    how = ", greedy" * any("greedy" in line for line in lines)
    return f"{scores} on its development data{how}" if scores else ""
