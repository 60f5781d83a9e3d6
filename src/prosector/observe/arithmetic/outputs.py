"""What a model says at its end, written out: logits, what a BERT fills in and labels, what a picture is of."""

from __future__ import annotations

from typing import Any

from prosector.models.conv_transformer import ConvTransformer
from prosector.observe.arithmetic.attention import map_line
from prosector.observe.arithmetic.layers import named
from prosector.observe.arithmetic.lines import Addend, Dot, Function, Line, Name, Same
from prosector.observe.arithmetic.run import Run, numbers, unknown


def single(text: str, column: int) -> Name:
    """A name of what stands once in a row of the batch."""
    return Name(f"{text}[{column}]", rf"\text{{{text}}}_{{{column}}}")


def logits(run: Run, hidden: str, *place: int) -> list[Line]:
    """What came out of the decoder, compared with the row of a word; of the last token, where only it was asked."""
    model: Any = run.seen.model
    row, column = (-1, *place) if len(place) == 1 else place
    vector = run.vector(hidden, row) * getattr(model, "output_scale", 1.0)
    name = named("logit", row, column) if len(place) == 2 else single("logit", column)
    return [map_line(name, numbers(vector), model.output, column)]


def pooled_logit(run: Run, column: int) -> list[Line]:
    """A class of the whole picture, from one vector."""
    model: Any = run.seen.model
    return [map_line(single("logit", column), numbers(run.get("pooled")), model.output, column)]


def of_bert(run: Run, what: str, *place: int) -> list[Line]:
    """Its segments and its two heads: gelu, norm and the table of words; tanh and a label.

    Raises:
        ValueError: it is none of them.
    """
    model: Any = run.seen.model
    match what:
        case "segments":
            row, column = place
            vector = run.vector("segments", row)
            segment = (model.segments.detach().double() - vector).abs().amax(1).argmin()
            return [Same(named(f"segment {int(segment)}", row, column), model.segments[segment, column].item())]
        case "fill_inner":
            inside = map_line(
                named("inner", *place), numbers(run.vector("encoder", place[0])), model.fill_inner, place[1]
            )
            return [inside, Function(named("fill_inner", *place), "gelu", inside.value)]
        case "fill":
            row, word = place
            table = numbers(model.embedding.weight[word].detach())
            bias = Addend("b", model.fill_bias[word].item())
            return [Dot(named("fill", row, word), numbers(run.vector("fill_norm", row)), table, added=[bias])]
        case "pooled":
            inside = map_line(single("inner", *place), numbers(run.vector("encoder", 0)), model.pool, place[0])
            return [inside, Function(single("pooled", *place), "tanh", inside.value)]
        case "label":
            return [map_line(single("label", *place), numbers(run.get("pooled")), model.label, place[0])]
    return unknown(what)


def pooled(run: Run, column: int) -> list[Line]:
    """The class token's vector, or the mean of all."""
    model: Any = run.seen.model
    name = single("pooled", column)
    if isinstance(model, ConvTransformer):
        return [Same(name, run.vector("final_norm", 0)[column].item())]
    if len(model.prefix):
        return [Same(name, run.vector("encoder", 0)[column].item())]
    values = numbers(run.get("encoder")[:, column])
    return [Dot(name, values, [1.0] * len(values), 1 / len(values))]
