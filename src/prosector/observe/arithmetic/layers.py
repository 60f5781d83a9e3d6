"""The rest of a model written out: norms, residual paths, feed-forward networks, embeddings, logits."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prosector.blocks import FeedForward, TokenEmbedding
from prosector.blocks.feed_forward import ACTIVATIONS, GeGLU
from prosector.blocks.norms import BatchNorm, RMSNorm
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
    stack = run.stack_of(path)
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
    before = run.before(run.place(sublayer))
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
    """A word and its place, before a norm that the stack may begin with."""
    word, place = added_to_enter(run, stack, row)
    return word + place


def added_to_enter(run: Run, stack: str, row: int) -> tuple[Tensor, Tensor]:
    """What a word is, and what its place adds to it.

    Raises:
        ValueError: what comes in is not a word alone.
    """
    addresses = {"encoder": "source_embedding", "decoder": "target_embedding"}
    found = addresses.get(stack, "embedding")
    found = found if found in run.seen else "embedding"
    if found not in run.seen or hasattr(run.seen.model, "segments"):
        raise ValueError(f"what comes into {stack} is not words alone; {stack}.input is where the calculation begins")
    word = run.vector(found, row)
    encoding, at = run.module(f"{stack}.position"), torch.tensor([run.position(stack, row)])
    with torch.no_grad():
        return word, encoding.embed(torch.zeros(1, 1, len(word)), at)[0, 0].double()


def stack_input(run: Run, stack: str, row: int, column: int) -> list[Line]:
    """What the first layer is given."""
    name = named("input", row, column)
    if run.module(stack).first_norm is not None:
        return [Same(name, run.vector(f"{stack}.first_norm", row)[column].item())]
    word, place = added_to_enter(run, stack, row)
    return [Plus(name, [Addend("word", word[column].item()), Addend("position", place[column].item())])]


def stack_output(run: Run, stack: str, row: int, column: int) -> list[Line]:
    """What the last layer handed on, normed if the stack ends with a norm."""
    module = run.module(stack)
    last = f"{stack}.{module.n_layers - 1}" if module.final_norm is None else f"{stack}.final_norm"
    return [Same(named("output", row, column), run.vector(last, row)[column].item())]


def logit(run: Run, row: int, column: int) -> list[Line]:
    """What came out of the decoder, compared with the row of a word."""
    model: Any = run.seen.model
    hidden = run.vector("decoder", row) * getattr(model, "output_scale", 1.0)
    return [map_line(named("logit", row, column), numbers(hidden), model.output, column)]
