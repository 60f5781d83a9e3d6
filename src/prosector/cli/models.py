"""`prosector models`: what is installed, and which kinds of model there are."""

from __future__ import annotations

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

KINDS = {
    "transformer": "the encoder-decoder Transformer: reads a text, writes another",
    "gpt": "decoder only: goes on with a text",
    "bert": "encoder only: fills gaps",
    "vit": "a Transformer on the patches of a picture",
    "conv-transformer": "a Transformer with convolutions",
    "rnn": "two recurrent networks, joined by one vector",
    "rnn-attention": "the same with additive attention",
    "unet": "from a picture to a picture, with skip connections",
    "attention-unet": "the same with a gate on every skip connection",
}

Kinds = Annotated[bool, typer.Option("--kinds", help="List the kinds of model, and which of them this version has.")]
