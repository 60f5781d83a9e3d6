"""torch.nn's six Transformer modules and `prosector.nn`'s: the same arguments, the same weights, either way.

Both carry the same names, so a module is rebuilt from its arguments and given copies of the weights. Nothing is
drawn at random, and the two share no memory.
"""

import copy
import warnings
from types import ModuleType
from typing import Any

import torch
from torch import nn

import prosector.nn
from prosector.blocks import LayerNorm
from prosector.interop.nn_of_blocks import BLOCKS, nn_of

SIX = prosector.nn.__all__


def from_torch(module: nn.Module) -> Any:
    """The module of `prosector.nn` with the same arguments, weights, type, device and mode.

    Hooks stay with the original.

    Raises:
        ValueError: it is not one of torch.nn's six (a subclass may compute something else), or a layer in it is not.
    """
    return twin(module, torch.nn, prosector.nn)


def to_torch(module: nn.Module, batch_first: bool = True) -> Any:
    """torch.nn's module with the weights of one of `prosector.nn`, or of one of this house's blocks.

    Args:
        batch_first: how a block's twin takes its input; a module of `prosector.nn` keeps its own.

    Raises:
        ValueError: torch.nn has no such module; what it lacks is named.
    """
    if isinstance(module, BLOCKS):
        return twin(nn_of(module, batch_first), prosector.nn, torch.nn)
    return twin(module, prosector.nn, torch.nn)


def twin(module: nn.Module, there: ModuleType, here: ModuleType) -> nn.Module:
    """The class of the same name in the other package, with copies of the weights."""
    with torch.device("meta"), warnings.catch_warnings():  # torch.nn warns of its own defaults
        warnings.simplefilter("ignore")
        other = rebuilt(module, there, here)
    other.load_state_dict({name: weight.detach().clone() for name, weight in module.state_dict().items()}, assign=True)
    parts = dict(other.named_modules())
    for path, part in module.named_modules():  # what may have been changed after it was built
        for what in ("p", "eps"):
            if hasattr(part, what) and path in parts:
                setattr(parts[path], what, getattr(part, what))
        if type(part).__name__ == "MultiheadAttention":
            set_rate(parts[path], rate(part.dropout))
    learned = dict(other.named_parameters())
    for name, weight in module.named_parameters():
        learned[name].requires_grad_(weight.requires_grad)
    return other.train(module.training)


def rebuilt(module: nn.Module, there: ModuleType, here: ModuleType) -> nn.Module:
    """The class of the same name in the other package, with the same arguments and no weights yet."""
    name = type(module).__name__
    if name not in SIX or type(module) is not getattr(there, name):
        raise ValueError(
            f"{type(module).__module__}.{name} is not one of {there.__name__}'s {', '.join(SIX)}; "
            "only of these is it known what they compute"
        )
    cls = getattr(here, name)
    if isinstance(module, there.MultiheadAttention):
        return cls(**arguments_of_attention(module))
    if isinstance(module, there.Transformer):
        return cls(
            module.d_model,
            module.nhead,
            custom_encoder=rebuilt(module.encoder, there, here),
            custom_decoder=rebuilt(module.decoder, there, here),
            batch_first=module.batch_first,
        )
    if isinstance(module, there.TransformerEncoder | there.TransformerDecoder):
        layers = [rebuilt(layer, there, here) for layer in module.layers]
        stack = cls(layers[0], len(layers), norm_for(module.norm, here))
        stack.layers = nn.ModuleList(layers)
        return stack
    return cls(**arguments_of_layer(module))


def arguments_of_attention(module: Any) -> dict[str, Any]:
    """What a MultiheadAttention of either package was built with."""
    return {
        "embed_dim": module.embed_dim,
        "num_heads": module.num_heads,
        "dropout": rate(module.dropout),
        "bias": module.in_proj_bias is not None,
        "add_bias_kv": module.bias_k is not None,
        "add_zero_attn": module.add_zero_attn,
        "kdim": module.kdim,
        "vdim": module.vdim,
        "batch_first": module.batch_first,
    }


def arguments_of_layer(module: Any) -> dict[str, Any]:
    """What an encoder or decoder layer of either package was built with."""
    return {
        "d_model": module.self_attn.embed_dim,
        "nhead": module.self_attn.num_heads,
        "dim_feedforward": module.linear1.out_features,
        "dropout": rate(module.dropout),
        "activation": copy.deepcopy(module.activation),  # it may be a module with weights
        "layer_norm_eps": module.norm1.eps,
        "batch_first": module.self_attn.batch_first,
        "norm_first": module.norm_first,
        "bias": module.linear1.bias is not None,
    }


def rate(dropout: Any) -> float:
    """The share that is dropped; torch.nn's attention keeps it as a number."""
    return float(getattr(dropout, "p", dropout))


def set_rate(attention: Any, p: float) -> None:
    """Change the share of weights that an attention of either package drops."""
    if hasattr(attention.dropout, "p"):
        attention.dropout.p = p
    else:
        attention.dropout = p


def norm_for(norm: nn.Module | None, here: ModuleType) -> nn.Module | None:
    """A stack's last norm in the other package; one that is not of this house is kept as it is."""
    if here is torch.nn and isinstance(norm, LayerNorm):
        return nn.LayerNorm(list(norm.weight.shape), norm.eps, bias=norm.bias is not None)
    return copy.deepcopy(norm)
