"""Where does a vector come from? Attention multiplied through the layers (Abnar and Zuidema 2020).

    Â = ½ (I + mean over heads of A)            a residual path brings half of a token from itself
    R = Â_N … Â_2 Â_1                           row i: from which tokens what stands at i after layer N comes

Rows sum to one. In a decoder what comes goes two ways, over what is written and over the source:

    T ← ½ (T + A_self T)     S ← ½ (S + A_self S)
    T ← ½ T                  S ← ½ (S + A_cross R_encoder)

It is a story about weights, not a proof: values may be large or small, and are not looked at.
"""

from __future__ import annotations

from itertools import count

import torch
from jaxtyping import Float
from torch import Tensor

from prosector.observe.observing import Seen


def layers_of(seen: Seen, pattern: str) -> list[Float[Tensor, "B H Lq Lk"]]:
    """The attention weights of each layer, first to last; `{}` in the pattern is the layer's number.

    Raises:
        KeyError: none was recorded.
    """
    found = []
    for number in count():
        if pattern.format(number) not in seen:
            break
        found.append(seen[pattern.format(number)])
    return found or [seen[pattern.format(0)]]


def mean_over_heads(weights: Float[Tensor, "B H Lq Lk"]) -> Float[Tensor, "B Lq Lk"]:
    """One matrix a row of the batch, in float32 at least."""
    return weights.to(torch.promote_types(weights.dtype, torch.float32)).mean(dim=1)


def rollout(seen: Seen, stack: str = "encoder", attention: str = "attention") -> Float[Tensor, "B L L"]:
    """For each token of a stack's output the share that comes from each token of its input; rows sum to one.

    A row that looks at nothing (padding alone) keeps the half that comes from itself.

    Args:
        seen: a run with `<stack>.*.<attention>.weights` recorded, in one piece and not step by step.
        stack: the stack's address.
        attention: what its layers call their attention: `attention`, or a decoder's `self`.

    Raises:
        KeyError: the weights were not recorded.
    """
    layers = layers_of(seen, f"{stack}.{{}}.{attention}.weights")
    flow = torch.eye(layers[0].shape[-1], dtype=torch.float32).expand(len(layers[0]), -1, -1)
    for weights in layers:
        flow = (flow + mean_over_heads(weights).to(flow) @ flow) / 2
    return flow


def rollout_across(
    seen: Seen, encoder: str = "encoder", decoder: str = "decoder"
) -> tuple[Float[Tensor, "B Lt Lt"], Float[Tensor, "B Lt Ls"]]:
    """For each token of the decoder's output the shares that come from the target's tokens and from the source's.

    Both rows together sum to one. Arguments and errors as for `rollout`.
    """
    of_memory = rollout(seen, encoder)
    selves = layers_of(seen, f"{decoder}.{{}}.self.weights")
    crosses = layers_of(seen, f"{decoder}.{{}}.cross.weights")
    n_batch, _, n_target, _ = selves[0].shape
    target = torch.eye(n_target).expand(n_batch, -1, -1)
    source = torch.zeros(n_batch, n_target, of_memory.shape[-1])
    for own, cross in zip(map(mean_over_heads, selves), map(mean_over_heads, crosses), strict=True):
        target, source = (target + own.to(target) @ target) / 2, (source + own.to(source) @ source) / 2
        target, source = target / 2, (source + cross.to(source) @ of_memory) / 2
    return target, source


def alignment(seen: Seen, decoder: str = "decoder", layer: int | None = None) -> Float[Tensor, "B Lt Ls"]:
    """How much each written token looked at each source token: cross-attention, its mean over heads.

    Args:
        seen: a run with `<decoder>.*.cross.weights` recorded, in one piece or step by step.
        layer: of one layer; the mean over all by default.

    Raises:
        KeyError: the weights were not recorded.
    """
    numbers = range(len(layers_of(seen, f"{decoder}.{{}}.cross.weights"))) if layer is None else [layer]
    steps = [seen.steps(f"{decoder}.{number}.cross.weights") for number in numbers]
    return torch.stack([torch.cat([mean_over_heads(step) for step in each], dim=1) for each in steps]).mean(dim=0)
