"""Which inputs moved this output? The gradient times the input, token by token (Shrikumar et al. 2016).

    share_i = Σ over features of  ∂y/∂x_i · x_i          x_i the vector that token i is embedded as

It says how y would begin to change if x_i were made longer: dy/dt of y(.., (1 + t) x_i, ..) at t = 0. Where y is
linear in its inputs, the shares and what does not depend on them sum to y. Elsewhere it is a first approximation.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import Heads
from prosector.blocks import TokenEmbedding
from prosector.observe.observing import observe


def gradient_times_input(
    model: nn.Module, inputs: Sequence[Tensor], place: tuple[int, ...], *, log_p: bool = False
) -> dict[str, Float[Tensor, "..."]]:
    """The share of each token, patch or pixel in one number of a model's output, by the address of the inputs.

    Of texts the inputs are the embeddings: `source_embedding` and `target_embedding`, or `embedding`, [L] shares each.
    Of pictures they are a ViT's `patches`, [h, w], or the `pictures` themselves, [H, W].

    Args:
        model: any of the nine kinds, in evaluation. Its weights and their gradients stay as they are.
        inputs: what it is called with, such as `(src, tgt)`.
        place: where the number stands in what comes out: (row of the batch, position, word), (row, class), or
            (row, class, height, width).
        log_p: whether the number is log p of that word or class instead of its logit.

    Raises:
        ValueError: the model has no such inputs, or is in training.
        IndexError: the place is not in the output.
    """
    if model.training:
        raise ValueError("gradients of a model in training are those of a random part of it; call model.eval() first")
    addresses = inputs_of(model)
    leaves: dict[str, Tensor] = {}

    def watched(address: str) -> None:
        def leaf(value: Tensor) -> Tensor:
            leaves[address] = value.detach().requires_grad_()
            return leaves[address]

        seen.edit(address, leaf)

    # cuDNN's recurrent cells have no gradients in evaluation, and FlexAttention has none on a CPU.
    with torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):
        with observe(model, keep=()) as seen:
            for address in addresses:
                watched(address)
            if any(isinstance(module, Heads) for module in model.modules()):
                seen.edit("*.weights", lambda weights: weights)  # an edit takes the written-out way
            output = model(*inputs)
        if len(place) != output.ndim or any(not 0 <= i < n for i, n in zip(place, output.shape, strict=True)):
            raise IndexError(f"the output is {list(output.shape)}, and {list(place)} was asked for")
        wide = output.to(torch.promote_types(output.dtype, torch.float32))
        chosen = (wide.log_softmax(1 if output.ndim == 4 else -1) if log_p else wide)[place]
        gradients = torch.autograd.grad(chosen, list(leaves.values()), materialize_grads=True)
    row = place[0]
    return {
        address: (gradient[row] * value[row]).detach().sum(0 if value.ndim == 4 else -1)
        for (address, value), gradient in zip(leaves.items(), gradients, strict=True)
    }


def inputs_of(model: nn.Module) -> list[str]:
    """The addresses at which a model's inputs become vectors.

    Raises:
        ValueError: there are none that are known here.
    """
    embeddings = [path for path, module in model.named_modules() if isinstance(module, TokenEmbedding)]
    if embeddings:
        return embeddings
    kind = getattr(getattr(model, "config", None), "kind", None)
    known = {"vit": "patches", "conv-transformer": "pictures", "unet": "pictures", "attention-unet": "pictures"}
    if kind not in known:
        raise ValueError(f"where the inputs of a {type(model).__name__} become vectors is not known here")
    return [known[kind]]
