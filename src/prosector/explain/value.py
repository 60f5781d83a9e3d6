"""The arithmetic of one cell, for the page."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field, ValidationError

from prosector.config.base import Config
from prosector.config.run import explain
from prosector.observe import Seen
from prosector.observe.arithmetic import explain_value
from prosector.observe.arithmetic.lines import Dot, Line, Style


class Cell(Config):
    """Which number."""

    address: str = Field(max_length=200, description="of the value, such as decoder.1.cross.weights")
    head: int = Field(0, ge=0, description="of what has heads")
    row: int = Field(ge=0, description="the token")
    column: int = Field(ge=0, description="the feature, the key, or the word")


def cell_from(given: Any) -> Cell:
    """The cell that somebody asks for.

    Raises:
        ValueError: what is wrong with it, in one line.
    """
    try:
        return Cell.model_validate(given)
    except ValidationError as error:
        raise ValueError(explain(error, "the request").replace("the request: the file: ", "the request: ")) from error


def arithmetic(seen: Seen, cell: Cell) -> dict[str, Any]:
    """The calculation of a cell, line by line, and the model's own number.

    Raises:
        ValueError: nothing was recorded there, there is no such cell, or how it came about is not known.
    """
    try:
        found = explain_value(seen, cell.address, head=cell.head, row=cell.row, column=cell.column)
    except (KeyError, IndexError, AttributeError) as error:
        raise ValueError(str(error.args[0]) if error.args else "there is no such cell") from error
    return {
        "address": cell.address,
        "lines": [line_of(line) for line in found.lines],
        "recorded": finite(found.recorded),
    }


def line_of(line: Line) -> dict[str, Any]:
    """A line: what it is called, its right side, what comes out; of a sum of products also the factors."""
    style = Style()
    known: dict[str, Any] = {"name": line.name.text, "written": line.written(style), "value": finite(line.value)}
    if isinstance(line, Dot):
        known |= {"left": [round(x, 6) for x in line.left], "right": [round(x, 6) for x in line.right]}
    return known


def finite(value: float) -> float | str:
    """A number as JSON knows it; infinity is a word."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("-inf" if value < 0 else "inf")
