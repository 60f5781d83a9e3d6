"""Recurrent translators written out: the gates of a cell, additive attention, what joins the two networks.

A recurrent network reads token after token, so a *step* is a token here: `explain_value(seen, "decoder.0.forget_gate",
step=2)` is that of the third token that was read. Encoders read real tokens first, and `backward` layers from the end.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from prosector.blocks import PAD, Recurrent
from prosector.blocks.cells import GRU_GATES, LSTM_GATES
from prosector.observe.arithmetic.attention import map_line, softmax
from prosector.observe.arithmetic.layers import named
from prosector.observe.arithmetic.lines import Addend, Dot, Function, Line, Product, Same
from prosector.observe.arithmetic.run import Run, numbers, unknown

# --- a cell ------------------------------------------------------------------------------------------------------


def cell(run: Run, path: str, what: str, row: int, column: int) -> list[Line]:
    """A gate, the cell or the state of one layer at one token; or what it was given."""
    layer, _, part = what.rpartition(".")
    module: Recurrent = run.module(path)
    address = f"{path}.{layer}"
    get = {name: run.get(f"{address}.{name}")[0] for name in parts_of(module)}
    name = named(part, row, column)
    if part in ("input", "before", "cell_before"):
        return [Same(name, given(run, path, layer, part)[column].item())]
    if part in ("cell", "state") and torch.equal(get["state"], get["before"]):  # padding
        return [Same(name, get["before" if part == "state" else "cell_before"][column].item())]
    if part == "cell":
        gates = [float(get[gate][column]) for gate in ("forget_gate", "input_gate")]
        return [Dot(name, gates, [float(get[part][column]) for part in ("cell_before", "candidate")])]
    if part == "state":
        return state(module, get, row, column)
    return gate(module, layer, part, get, row, column)


def parts_of(module: Recurrent) -> list[str]:
    """What is recorded of a layer."""
    if module.is_lstm:
        return ["input", "before", "cell_before", *LSTM_GATES, "cell", "state"]
    return ["input", "before", *GRU_GATES, "state"]


def state(module: Recurrent, get: dict[str, Tensor], row: int, column: int) -> list[Line]:
    """o ⊙ tanh(c), or (1 - z) ⊙ n + z ⊙ h."""
    name = named("state", row, column)
    at = {part: value[column].item() for part, value in get.items() if part != "input"}
    if module.is_lstm:
        bounded = Function(named("bounded", row, column), "tanh", at["cell"])
        return [bounded, Product(name, at["output_gate"], bounded.value)]
    update = at["update_gate"]
    return [Dot(name, [1 - update, update], [at["candidate"], at["before"]])]


def gate(module: Recurrent, layer: str, part: str, get: dict[str, Tensor], row: int, column: int) -> list[Line]:
    """A gate's map of input and state, squashed; a GRU's reset gate holds back the state in the candidate."""
    names = LSTM_GATES if module.is_lstm else GRU_GATES
    weights = module.weights(dict(module.layers())[layer])
    output = names.index(part) * module.d_hidden + column
    from_x = (numbers(get["input"]), numbers(weights.input[output].detach()))
    from_h = (numbers(get["before"]), numbers(weights.state[output].detach()))
    biases = [Addend("b", weights.input_bias[output].item()), Addend("b_h", weights.state_bias[output].item())]
    name, squash = named(part, row, column), "tanh" if part == "candidate" else "sigmoid"
    inner = named("inner", row, column)
    if module.is_lstm or part != "candidate":
        inside = Dot(inner, from_x[0] + from_h[0], from_x[1] + from_h[1], added=biases)
        return [inside, Function(name, squash, inside.value)]
    past = Dot(named("past", row, column), *from_h, added=biases[1:])
    let_in = Product(named("let_in", row, column), float(get["reset_gate"][column]), past.value)
    inside = Dot(inner, *from_x, added=[biases[0], Addend("past", let_in.value)])
    return [past, let_in, inside, Function(name, squash, inside.value)]


# --- what a cell is given ----------------------------------------------------------------------------------------


def given(run: Run, path: str, layer: str, part: str) -> Tensor:
    """Where a cell's input and its state before come from."""
    if part == "input":
        return entering(run, path, layer)
    address = f"{path}.{layer}.{'state' if part == 'before' else 'cell'}"
    step = run.step % len(run.seen.steps(address))
    recorded = run.get(f"{path}.{layer}.{part}")[0]
    first = first_state(run, path, layer, part)
    if step == 0 or torch.allclose(recorded, first):
        return first
    return run.get(address, step - 1)[0]


def first_state(run: Run, path: str, layer: str, part: str) -> Tensor:
    """The state before the first token: nothing, or what the encoder handed over."""
    module: Recurrent = run.module(path)
    if path == "encoder":
        return torch.zeros(module.d_hidden, dtype=torch.float64)
    states = run.get("state" if "state" in run.seen else "first_state", step=-1)
    return states[int(layer) + module.n_layers * (part == "cell_before")]


def entering(run: Run, path: str, layer: str) -> Tensor:
    """A word, with a decoder's context; or what the layer below found."""
    module: Recurrent = run.module(path)
    number = int(layer.partition(".")[0])
    step = run.step % len(run.seen.steps(f"{path}.{layer}.input"))
    if number == 0:
        return word(run, step, layer) if path == "encoder" else with_context(run, step)
    token, length, start = step, 0, 0
    if path == "encoder":
        token, length, start = order_of(run, step, layer)
        if token >= len(real_rows(run, start)[1]):  # padding: the layer below says nothing
            return torch.zeros(module.d_hidden * (1 + module.cells.bidirectional)).double()
    below = [run.get(f"{path}.{number - 1}.state", start + token)[0]]
    if module.cells.bidirectional:
        below.append(run.get(f"{path}.{number - 1}.backward.state", start + length - 1 - token)[0])
    return torch.cat(below)


def order_of(run: Run, step: int, layer: str) -> tuple[int, int, int]:
    """Which of a source's tokens, in the order of reading, a step is; of how many; and the source's first step."""
    start = 0
    for length in run.lengths("source_embedding"):
        if step < start + length:
            token = step - start
            return (length - 1 - token if layer.endswith("backward") else token), length, start
        start += length
    raise ValueError(f"step {step} is no token of the source")


def real_rows(run: Run, start: int) -> tuple[Tensor, list[int], list[int]]:
    """The source's vectors whose first step that is, and the rows that are real, and are padding."""
    starts = [sum(run.lengths("source_embedding")[:n]) for n in range(len(run.lengths("source_embedding")))]
    vectors = run.get("source_embedding", starts.index(start))
    embedding: Any = run.module("source_embedding")
    nothing = (embedding.weight[PAD] * embedding.scale).detach().double()
    padding = (vectors - nothing).abs().amax(1) < 1e-6
    rows = list(range(len(vectors)))
    return vectors, [row for row in rows if not padding[row]], [row for row in rows if padding[row]]


def word(run: Run, step: int, layer: str) -> Tensor:
    """The source's word that is read at a step."""
    token, _, start = order_of(run, step, layer)
    vectors, real, padding = real_rows(run, start)
    return vectors[[*real, *padding][token]]


def with_context(run: Run, step: int) -> Tensor:
    """The target's word, and beside it what the decoder reads of the source with it."""
    y = run.get("target_embedding", *target_of(run, step)[:1])[target_of(run, step)[1]]
    if "attention.context" in run.seen:
        return torch.cat([y, run.get("attention.context", step)[0]])
    model: Any = run.seen.model
    if not model.config.context_at_every_step:
        return y
    return torch.cat([y, run.get("state", step=-1)[model.encoder.n_layers - 1]])


def target_of(run: Run, step: int) -> tuple[int, int]:
    """In which call, and there in which row, the target's token of a step was read."""
    for call, length in enumerate(run.lengths("target_embedding")):
        if step < length:
            return call, step
        step -= length
    raise ValueError("the decoder's words were not recorded; keep target_embedding")


# --- what joins the networks -------------------------------------------------------------------------------------


def additive(run: Run, path: str, what: str, row: int, column: int) -> list[Line]:
    """vᵀ tanh(W_q q + b + W_k k), of which the first feature is written out; the softmax; the weighted sum."""
    module = run.module(path)
    if what == "weights":
        return [softmax(run.get(f"{path}.scores")[row], run.get(f"{path}.weights")[row], row, column)]
    memory = run.get("memory", step=-1)  # [Ls, 2h]
    if what == "context":
        name = named("context", row, column)
        return [Dot(name, numbers(run.get(f"{path}.weights")[row]), numbers(memory[:, column]))]
    top = run.module("decoder").n_layers - 1
    query, key = run.get(f"decoder.{top}.before")[row], memory[column]
    weights = torch.cat([module.query.weight, module.key.weight], dim=1).detach().double()  # [a, d_q + d_k]
    both = torch.cat([query, key])
    inner = weights @ both + module.query.bias.detach().double()
    bias = Addend("b", module.query.bias[0].item())
    first = Dot(named("inner", 0, column), numbers(both), numbers(weights[0]), added=[bias])
    squashed = Function(named("fit", 0, column), "tanh", first.value)
    total = Dot(named("score", row, column), numbers(module.v.detach()), numbers(inner.tanh()))
    return [first, squashed, total]


def of_model(run: Run, what: str, row: int, column: int) -> list[Line]:
    """What both recurrent translators hand from one network to the other, and on to the words."""
    model: Any = run.seen.model
    name = named(what, row, column)
    match what:
        case "state":
            return [Same(name, last_state(run, row)[column].item())]
        case "memory":
            return [Same(name, annotation(run, row)[column].item())]
        case "first_state":
            memory = run.get("memory", step=-1)
            first = memory[int((memory != 0).any(1).to(torch.int8).argmax()), model.config.d_hidden :]
            output = row * model.config.d_hidden + column
            inside = map_line(named("inner", row, column), numbers(first), model.first_state, output)
            return [inside, Function(name, "tanh", inside.value)]
        case "states":
            return [Same(name, top_state(run, "states", row)[column].item())]
        case "hidden" if "states" in run.seen:
            return [map_line(name, numbers(run.vector("states", row)), model.readout, column)]
        case "hidden":
            step = run.count_before("hidden") + row
            call, there = target_of(run, step)
            y, context = run.get("target_embedding", call)[there], run.get("attention.context", step)[0]
            read = torch.cat([top_state(run, "hidden", row), y, context])
            inside = map_line(named("inner", row, column), numbers(read), model.readout, column)
            return [inside, Function(name, "tanh", inside.value)]
    return unknown(what)


def top_state(run: Run, of: str, row: int) -> Tensor:
    """The decoder's last layer's state at a row of this step."""
    top = run.module("decoder").n_layers - 1
    return run.get(f"decoder.{top}.state", run.count_before(of) + row)[0]


def last_state(run: Run, row: int) -> Tensor:
    """An encoder layer's state, or its cell, after the last token."""
    n_layers = run.module("encoder").n_layers
    lengths = run.lengths("source_embedding")
    last = sum(lengths[: run.step % len(lengths) + 1]) - 1
    return run.get(f"encoder.{row % n_layers}.{'state' if row < n_layers else 'cell'}", last)[0]


def annotation(run: Run, row: int) -> Tensor:
    """What both directions know at a word of the source; nothing at padding."""
    start = run.count_before("source_embedding")
    vectors, real, _ = real_rows(run, start)
    top = run.module("encoder").n_layers - 1
    if row not in real:
        return torch.zeros_like(run.get("memory")[row])
    token = real.index(row)
    forward = run.get(f"encoder.{top}.state", start + token)[0]
    return torch.cat([forward, run.get(f"encoder.{top}.backward.state", start + len(vectors) - 1 - token)[0]])
