"""Small models for the tests of the native core, and the same with PyTorch's maps rounded as the core rounds them."""

import copy

import torch
from torch import nn

from prosector.attention import KERNELS as KERNELS_OF_OURS
from prosector.attention.heads import Heads
from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig

V = 40
SOURCES = [[5, 6, 7, 3], [8, 3], [9, 10, 11, 12, 13, 14, 15, 3], [4, 4, 4, 4, 4, 3]]


class Rounded(nn.Module):
    """A linear map as the core computes it: whole numbers up to ±127, a scale a row of weights, and one a row of x."""

    def __init__(self, linear):
        super().__init__()
        self.scale = linear.weight.detach().abs().amax(1).clamp(min=1e-8) / 127
        self.weight = (linear.weight.detach() / self.scale[:, None]).round()
        self.bias = None if linear.bias is None else linear.bias.detach()

    def forward(self, x):
        scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-8) / 127
        whole = (x / scale).round() @ self.weight.T
        y = whole * (scale * self.scale)
        return y if self.bias is None else y + self.bias


def halved(query, key, value, scope, scale=None):
    """Attention to keys and values that are kept in 16 bits."""
    return KERNELS_OF_OURS["written-out"](query, key.half().float(), value.half().float(), scope, scale)


def rounded(model):
    """A copy whose linear maps are rounded, and whose keys and values are kept in 16 bits."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if isinstance(module, Heads):
            module.kernel = halved
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Rounded(child))
    return model


def made(**fields):
    """A model whose words differ, and its folder's config."""
    sizes = {"source_vocab": V, "target_vocab": V, "d_model": 32, "n_heads": 4, "d_ff": 48}
    config = TransformerConfig(**sizes | {"encoder_layers": 2, "decoder_layers": 2} | fields)
    torch.manual_seed(0)
    model = config.build().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.3)
    return TranslatorFolder(source="zh", target="en", max_tokens=20, model=config), model
