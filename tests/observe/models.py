"""Small models whose every part says something, and a run of each that was seen whole."""

import torch

from prosector.config.gpt import GptConfig
from prosector.config.transformer import TransformerConfig
from prosector.observe import observe

SIZES = {"d_model": 16, "n_heads": 2, "d_ff": 32}
SRC = torch.tensor([[5, 6, 7, 3], [8, 9, 3, 0]])
TGT = torch.tensor([[2, 4, 5], [2, 6, 7]])


def stirred(model):
    """No bias at 0 and no scale at 1."""
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2)
    return model.eval()


def translator(**fields):
    """A translator."""
    vocabularies = {"source_vocab": 12, "target_vocab": 13}
    layers = {"encoder_layers": 2, "decoder_layers": 3}
    return stirred(TransformerConfig(**SIZES | vocabularies | layers | fields).build())


def writer(**fields):
    """A GPT."""
    return stirred(GptConfig(**SIZES | {"vocab": 13, "layers": 2} | fields).build())


def watched(model):
    """A run that was seen whole."""
    with torch.no_grad(), observe(model) as seen:
        model(*((TGT,) if hasattr(model, "embedding") else (SRC, TGT)))
    return seen
