"""The rest of a model written out: norms, residual paths, feed-forward networks, embeddings, logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prosector.blocks import FeedForward, TokenEmbedding
from prosector.blocks.feed_forward import ACTIVATIONS, GeGLU
from prosector.blocks.norms import BatchNorm, RMSNorm
from prosector.models.bert import Bert
from prosector.models.gpt import Gpt
from prosector.models.transformer import Transformer
from prosector.models.vit import ViT
from prosector.observe.arithmetic.attention import map_line
from prosector.observe.arithmetic.lines import Addend, Function, Line, Name, Normed, Plus, Product, Same
from prosector.observe.arithmetic.run import Run, numbers


def named(text: str, row: int, column: int) -> Name:
    """A name with its place."""
    return Name(f"{text}[{row}, {column}]", rf"\text{{{text.replace('_', ' ')}}}_{{{row},{column}}}")


def norm(run: Run, path: str, row: int, column: int) -> list[Line]:
    """(x - mean) / √(variance + ε) · γ + β.

    Raises:
        ValueError: it is batch norm, which counts over other tokens too.
    """
    module = run.module(path)
    if isinstance(module, BatchNorm):
        raise ValueError(f"{path} is a batch norm: its mean and variance are those of training, and no sum of this run")
    x = norm_input(run, path, row)
    gamma = float(module.weight.detach()[column])
    if isinstance(module, RMSNorm):
        return [Normed(named("norm", row, column), x[column].item(), 0.0, x.square().mean().item(), module.eps, gamma)]
    beta = 0.0 if module.bias is None else float(module.bias.detach()[column])
    mean, variance = x.mean().item(), x.var(correction=0).item()
    return [Normed(named("norm", row, column), x[column].item(), mean, variance, module.eps, gamma, beta)]


def norm_input(run: Run, path: str, row: int) -> Tensor:
    """The vector that a norm was given."""
    if path == "fill_norm":
        return run.vector("fill_inner", row)
    if path == "final_norm":  # a ConvTransformer's, after its last stage
        return run.vector(f"stage{len(run.seen.model.config.stages) - 1}", row)  # type: ignore[union-attr, arg-type]
    stack = run.stack_of(path)
    if path == f"{stack}.norm":  # a stage's, on what its convolution made
        return run.get(f"{stack}.embed").flatten(1)[:, row]
    if path == f"{stack}.final_norm":
        return run.vector(f"{stack}.{run.module(stack).n_layers - 1}", row)
    if path == f"{stack}.first_norm":
        return entering(run, stack, row)
    place = run.place(path)
    x = run.vector(run.before(place), row)
    if run.is_pre_norm(place.layer):
        return x
    return x + run.vector(f"{place.layer}.{run.sublayers(place.layer)[place.sublayer][0]}", row)


def residual(run: Run, layer: str, what: str, row: int, column: int) -> list[Line]:
    """What a layer hands on after a sublayer: x + sublayer, or, with norms after it, the norm of that."""
    sublayers = run.sublayers(layer)
    number = [ending for _, ending in sublayers].index(f".{what}" if what else "")
    name = named("x", row, column)
    if not run.is_pre_norm(layer):
        return [Same(name, run.vector(f"{layer}.norm{number + 1}", row)[column].item())]
    sublayer = f"{layer}.{sublayers[number][0]}"
    before = run.before(run.place(f"{layer}.norm{number + 1}"))
    return [Plus(name, [Addend(each, run.vector(each, row)[column].item()) for each in (before, sublayer)])]


def feed_forward(run: Run, path: str, what: str, row: int, column: int) -> list[Line]:
    """f(x W + b), or what a gate lets through of it; and the second map."""
    module: Any = run.module(path)
    if not what:
        hidden = numbers(run.vector(f"{path}.hidden", row))
        return [map_line(named("feed_forward", row, column), hidden, module.outer, column)]
    x = numbers(run.vector(run.given(run.place(path)), row))
    if what == "opening":
        inside = map_line(named("gate", row, column), x, module.gate, column)
        return [inside, Function(named("opening", row, column), opening_of(module), inside.value)]
    inside = map_line(named("inner", row, column), x, module.inner, column)
    if isinstance(module, FeedForward):
        known = {function: name for name, function in ACTIVATIONS.items()}
        return [inside, Function(named("hidden", row, column), known[module.activation], inside.value)]
    opening = run.vector(f"{path}.opening", row)[column].item()
    return [inside, Product(named("hidden", row, column), opening, inside.value)]


def opening_of(module: Any) -> str:
    """What opens a gate."""
    return "gelu-tanh" if isinstance(module, GeGLU) else "swish"


def embedding(run: Run, path: str, row: int, column: int) -> list[Line]:
    """A row of the table, times √d; which row is seen from what came out."""
    module: TokenEmbedding = run.module(path)
    table = module.weight.detach().double()
    word = (table * module.scale - run.vector(path, row)).abs().amax(1).argmin()
    return [Product(named(f"word {int(word)}", row, column), table[word, column].item(), module.scale)]


def entering(run: Run, stack: str, row: int) -> Tensor:
    """A token and its place, before a norm that the stack may begin with."""
    return torch.stack([added for _, added in added_to_enter(run, stack, row)]).sum(0)


def added_to_enter(run: Run, stack: str, row: int) -> list[tuple[str, Tensor]]:
    """What a token is, and what its place adds to it.

    Raises:
        ValueError: it is not known how tokens come in.
    """
    model: Any = run.seen.model
    match model:
        case Transformer():
            tokens = [("word", run.vector("source_embedding" if stack == "encoder" else "target_embedding", row))]
        case Gpt():
            tokens = [("word", run.vector("embedding", row))]
        case Bert():
            tokens = [("word", run.vector("embedding", row)), ("segment", run.vector("segments", row))]
        case ViT():
            n_prefix = len(model.prefix)
            patches = run.get("patches").flatten(1).T  # [L, d]
            is_patch = row >= n_prefix
            vector = patches[row - n_prefix] if is_patch else model.prefix[row].detach().double()
            tokens = [("patch" if is_patch else "class token", vector)]
        case _:
            raise ValueError(
                f"what comes into {stack} is not known here; {stack}.input is where the calculation begins"
            )
    positions = run.positions(stack)
    nothing = torch.zeros(1, run.lengths(f"{stack}.input")[run.step], model.config.d_model, dtype=torch.float64)
    with torch.no_grad():
        place = run.module(f"{stack}.position").embed(nothing, positions)[0, row].double()
    return [*tokens, ("position", place)]


def stack_input(run: Run, stack: str, row: int, column: int) -> list[Line]:
    """What the first layer is given."""
    name = named("input", row, column)
    if run.module(stack).first_norm is not None:
        return [Same(name, run.vector(f"{stack}.first_norm", row)[column].item())]
    return [Plus(name, [Addend(each, value[column].item()) for each, value in added_to_enter(run, stack, row)])]


def stack_output(run: Run, stack: str, row: int, column: int) -> list[Line]:
    """What the last layer handed on, normed if the stack ends with a norm."""
    module = run.module(stack)
    last = f"{stack}.{module.n_layers - 1}" if module.final_norm is None else f"{stack}.final_norm"
    return [Same(named("output", row, column), run.vector(last, row)[column].item())]
