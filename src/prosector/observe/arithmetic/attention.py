"""Attention written out: a query, a key, their score, the softmax, the weighted sum, the output."""

from __future__ import annotations

import torch
from torch import Tensor

from prosector.attention import MultiHeadAttention
from prosector.blocks import ConvAttention
from prosector.observe.arithmetic.lines import Addend, Dot, Line, Name, Softmax, Turned
from prosector.observe.arithmetic.run import Run, bias_of, numbers, weight_of
from prosector.positions import Position, RotaryPosition

LETTERS = {"query": "q", "key": "k", "value": "v"}


def map_line(name: Name, x: list[float], linear: torch.nn.Linear, output: int) -> Dot:
    """One output of a linear map: x · W[output] + b."""
    bias = bias_of(linear, output)
    added = [] if bias is None else [Addend("b", bias)]
    return Dot(name, x, weight_of(linear, output), added=added)


def projected(run: Run, path: str, what: str, head: int, row: int, column: int) -> list[Line]:
    """A number of a query, key or value: a linear map of what the attention reads, turned where positions turn it."""
    attention: MultiHeadAttention = run.module(path)
    place = run.place(path)
    step, there = run.step, row
    is_cross = path.endswith(".cross")
    size = attention.d_value if what == "value" else attention.d_head
    linear = getattr(attention, what)
    if is_cross and what != "query":
        x = numbers(run.memory()[row])
    elif isinstance(run.module(path.rpartition(".")[0]), ConvAttention):
        x = numbers(run.vector(f"{path.rpartition('.')[0]}.{what}", row))
    elif what == "query":
        x = numbers(run.vector(run.given(place), row))
    else:  # of a token that was perhaps read in an earlier step
        step, there = run.step_of(place.stack, row)
        x = numbers(run.get(run.given(place), step)[there])

    def line(feature: int, turned: bool = False) -> Dot:
        letter = LETTERS[what] + ("'" if turned else "")
        name = Name(f"{letter}[{row}, {feature}]", f"{letter}_{{{row},{feature}}}")
        return map_line(name, x, linear, head * size + feature)

    encoding = getattr(run.module(place.stack), "position", None)
    if is_cross or what == "value" or not isinstance(encoding, RotaryPosition):
        return [line(column)]
    half = size // 2
    pair = column // 2 if encoding.layout == "interleaved" else column % half
    first, second = (2 * pair, 2 * pair + 1) if encoding.layout == "interleaved" else (pair, pair + half)
    lines = [line(first, turned=True), line(second, turned=True)]
    angle = encoding.cos_sin(run.positions(place.stack, step)[[there]], torch.float64)
    cosine, sine = (each.flatten()[pair].item() for each in angle)
    letter = LETTERS[what]
    name = Name(f"{letter}[{row}, {column}]", f"{letter}_{{{row},{column}}}")
    return [*lines, Turned(name, lines[0].value, lines[1].value, cosine, sine, column == first)]


def score(run: Run, path: str, head: int, row: int, column: int) -> list[Line]:
    """q · k / √d, and what positions add."""
    attention: MultiHeadAttention = run.module(path)
    group = attention.n_heads // attention.n_kv_heads
    query, key = run.get(f"{path}.query")[head, row], run.get(f"{path}.key")[head // group, column]
    scale = attention.d_head**-0.5 if attention.scale is None else attention.scale
    bias = None if path.endswith(".cross") else bias_between(run, run.stack_of(path), head, row, column)
    added = [] if bias is None else [Addend("position", bias)]
    name = Name(f"score[{row}, {column}]", f"s_{{{row},{column}}}")
    return [Dot(name, numbers(query), numbers(key), scale, added)]


def bias_between(run: Run, stack: str, head: int, row: int, column: int) -> float | None:
    """What positions add to one score."""
    encoding = getattr(run.module(stack), "position", None)
    if encoding is None or type(encoding).bias is Position.bias:
        return None
    with torch.no_grad():
        bias = encoding.bias(run.positions(stack)[[row]], run.key_positions(stack)[[column]])
    return None if bias is None else bias[0, head, 0, 0].item()


def weight(run: Run, path: str, head: int, row: int, column: int) -> list[Line]:
    """softmax over the keys that may be looked at: those whose weight is not exactly 0."""
    scores, weights = (run.get(f"{path}.{name}")[head, row] for name in ("scores", "weights"))
    return [softmax(scores, weights, row, column)]


def softmax(scores: Tensor, weights: Tensor, row: int, column: int) -> Softmax:
    """One row's scores as one of its weights."""
    name = Name(f"weight[{row}, {column}]", rf"\alpha_{{{row},{column}}}")
    return Softmax(name, numbers(scores), [bool(value) for value in weights != 0], column)


def mixed(run: Run, path: str, head: int, row: int, column: int) -> list[Line]:
    """Σ weight · value: one feature of what a head found."""
    attention: MultiHeadAttention = run.module(path)
    group = attention.n_heads // attention.n_kv_heads
    weights, values = run.get(f"{path}.weights")[head, row], run.get(f"{path}.value")[head // group, :, column]
    return [Dot(Name(f"head[{row}, {column}]", f"h_{{{row},{column}}}"), numbers(weights), numbers(values))]


def output(run: Run, path: str, row: int, column: int) -> list[Line]:
    """The heads side by side through the last projection."""
    attention: MultiHeadAttention = run.module(path)
    heads = run.get(f"{path}.heads")[:, row].flatten()  # [H · d_v]
    name = Name(f"attention[{row}, {column}]", f"a_{{{row},{column}}}")
    return [map_line(name, numbers(heads), attention.output, column)]  # type: ignore[arg-type]
