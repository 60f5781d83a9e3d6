"""A line of a calculation: the numbers that go in, what comes out, and both as text and as LaTeX.

Each kind of line computes its value from the numbers it holds, in float64, so that it can be held against the model's.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

SHOWN = 6  # terms of a long sum that are written out; the others are counted


class Style(NamedTuple):
    """How numbers and signs are written."""

    digits: int = 4
    latex: bool = False

    def number(self, value: float, signed: bool = False) -> str:
        """A number with so many digits after its point."""
        if math.isinf(value):
            infinite = r"\infty" if self.latex else "∞"
            return f"-{infinite}" if value < 0 else infinite
        text = f"{value:.{self.digits}f}"
        text = text.lstrip("-") if float(text) == 0 else text  # no -0.00
        return f"({text})" if signed and text.startswith("-") else text

    @property
    def times(self) -> str:
        return r" \cdot " if self.latex else "·"

    @property
    def dots(self) -> str:
        return r"\dots" if self.latex else "…"

    def fraction(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}" if self.latex else f"({above}) / {below}"


class Name(NamedTuple):
    """What comes out, for people and for LaTeX."""

    text: str
    latex: str


class Line(ABC):
    """One step of a calculation."""

    name: Name

    @property
    @abstractmethod
    def value(self) -> float:
        """What comes out, in float64."""

    @abstractmethod
    def written(self, style: Style) -> str:
        """The right side, with its numbers."""

    def text(self, style: Style) -> str:
        """name = … = value"""
        name = self.name.latex if style.latex else self.name.text
        return f"{name} = {self.written(style)} = {style.number(self.value)}"


class Addend(NamedTuple):
    """A number with a name, that is added."""

    name: str
    value: float


@dataclass(frozen=True)
class Dot(Line):
    """(Σ left · right) · factor + what else is added: a score, a linear map's output, a weighted sum."""

    name: Name
    left: Sequence[float]
    right: Sequence[float]
    factor: float = 1.0
    added: Sequence[Addend] = ()
    shown: int = SHOWN

    @property
    def value(self) -> float:
        products = math.fsum(a * b for a, b in zip(self.left, self.right, strict=True))
        return products * self.factor + math.fsum(addend.value for addend in self.added)

    def written(self, style: Style) -> str:
        pairs = list(zip(self.left, self.right, strict=True))
        some = pairs if len(pairs) <= self.shown else [*pairs[: self.shown - 1], None, pairs[-1]]
        terms = [
            style.dots if pair is None else f"{style.number(pair[0], True)}{style.times}{style.number(pair[1], True)}"
            for pair in some
        ]
        text = " + ".join(terms)
        if self.factor != 1:
            text = f"({text}){style.times}{style.number(self.factor)}"
        return " + ".join([text, *(f"{style.number(addend.value, True)}" for addend in self.added)])


@dataclass(frozen=True)
class Plus(Line):
    """Numbers with names, added: a residual path, a word and its place."""

    name: Name
    added: Sequence[Addend]

    @property
    def value(self) -> float:
        return math.fsum(addend.value for addend in self.added)

    def written(self, style: Style) -> str:
        return " + ".join(style.number(addend.value, True) for addend in self.added)


@dataclass(frozen=True)
class Product(Line):
    """Two numbers multiplied: a gate and what it lets through, an embedding and √d."""

    name: Name
    left: float
    right: float

    @property
    def value(self) -> float:
        return self.left * self.right

    def written(self, style: Style) -> str:
        return f"{style.number(self.left, True)}{style.times}{style.number(self.right, True)}"


@dataclass(frozen=True)
class Function(Line):
    """A function of one number."""

    name: Name
    function: str  # relu, gelu, gelu-tanh, swish, tanh, sigmoid
    argument: float

    @property
    def value(self) -> float:
        x = self.argument
        match self.function:
            case "relu":
                return max(x, 0.0)
            case "gelu":
                return x / 2 * (1 + math.erf(x / math.sqrt(2)))
            case "gelu-tanh":
                return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
            case "swish":
                return x / (1 + math.exp(-x))
            case "tanh":
                return math.tanh(x)
            case "sigmoid":
                return 1 / (1 + math.exp(-x)) if x > -700 else 0.0
        raise ValueError(f"an unknown function {self.function!r}")

    def written(self, style: Style) -> str:
        name = rf"\operatorname{{{self.function}}}" if style.latex else self.function
        return f"{name}({style.number(self.argument)})"


@dataclass(frozen=True)
class Softmax(Line):
    """e^(s_j - m) / Σ e^(s_k - m) over the keys that may be looked at, m the largest of them; 0 for the others."""

    name: Name
    scores: Sequence[float]
    allowed: Sequence[bool]
    place: int
    largest: float = field(init=False)

    def __post_init__(self) -> None:
        seen = [score for score, may in zip(self.scores, self.allowed, strict=True) if may]
        object.__setattr__(self, "largest", max(seen, default=0.0))

    @property
    def denominator(self) -> float:
        pairs = zip(self.scores, self.allowed, strict=True)
        return math.fsum(math.exp(score - self.largest) for score, may in pairs if may)

    @property
    def value(self) -> float:
        if not self.allowed[self.place]:
            return 0.0
        return math.exp(self.scores[self.place] - self.largest) / self.denominator

    def written(self, style: Style) -> str:
        if not self.allowed[self.place]:
            return style.fraction(f"e^{{{style.number(-math.inf)}}}" if style.latex else "e^-∞", self._below(style))
        apart = self.scores[self.place] - self.largest
        above = f"e^{{{style.number(apart)}}}" if style.latex else f"e^{style.number(apart, True)}"
        return style.fraction(above, self._below(style))

    def _below(self, style: Style) -> str:
        return style.number(self.denominator)


@dataclass(frozen=True)
class Normed(Line):
    """(x - mean) / √(variance + ε) · γ + β; without a mean and β, RMS norm's, whose variance is the mean square."""

    name: Name
    x: float
    mean: float
    variance: float
    eps: float
    weight: float
    bias: float = 0.0

    @property
    def value(self) -> float:
        return (self.x - self.mean) / math.sqrt(self.variance + self.eps) * self.weight + self.bias

    def written(self, style: Style) -> str:
        above = style.number(self.x)
        if self.mean:
            above += f" - {style.number(self.mean, True)}"
        text = style.fraction(above, style.number(math.sqrt(self.variance + self.eps)))
        text = f"{text}{style.times}{style.number(self.weight, True)}"
        return f"{text} + {style.number(self.bias, True)}" if self.bias else text


@dataclass(frozen=True)
class Turned(Line):
    """One feature of a pair, turned by an angle: a cos - b sin, or a sin + b cos (RoPE)."""

    name: Name
    first: float
    second: float
    cosine: float
    sine: float
    is_first: bool

    @property
    def value(self) -> float:
        if self.is_first:
            return self.first * self.cosine - self.second * self.sine
        return self.first * self.sine + self.second * self.cosine

    def written(self, style: Style) -> str:
        a, b = style.number(self.first, True), style.number(self.second, True)
        cosine, sine = style.number(self.cosine, True), style.number(self.sine, True)
        if self.is_first:
            return f"{a}{style.times}{cosine} - {b}{style.times}{sine}"
        return f"{a}{style.times}{sine} + {b}{style.times}{cosine}"


@dataclass(frozen=True)
class Same(Line):
    """A number that is taken over as it is."""

    name: Name
    same: float

    @property
    def value(self) -> float:
        return self.same

    def written(self, style: Style) -> str:
        return style.number(self.same)
