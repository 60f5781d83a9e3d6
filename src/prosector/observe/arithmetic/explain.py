"""A recorded number, written out as the calculation that made it.

with observe(model) as seen:
    model(src, tgt)
print(explain_value(seen, "encoder.0.attention.scores", head=1, row=2, column=3).text())

score[2, 3] = (0.3100·0.1200 + … ) · 0.1250 = 1.7300
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderLayer, EncoderLayer, FeedForward, TokenEmbedding
from prosector.blocks.feed_forward import SwiGLU
from prosector.blocks.norms import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.stack import Stack
from prosector.observe.arithmetic import attention, layers
from prosector.observe.arithmetic.lines import Line, Style
from prosector.observe.arithmetic.run import Run
from prosector.observe.observing import Seen

ATTENTION: dict[str, Callable[..., list[Line]]] = {
    "scores": attention.score,
    "weights": attention.weight,
    "heads": attention.mixed,
    "": attention.output,
}


@dataclass(frozen=True)
class Explanation:
    """A calculation.

    Attributes:
        address: what was asked for.
        lines: from the first to that which gives the value.
        recorded: the model's own number.
    """

    address: str
    lines: list[Line]
    recorded: float

    @property
    def value(self) -> float:
        """What the calculation gives, in float64."""
        return self.lines[-1].value

    def text(self, digits: int = 4) -> str:
        """A line of text each."""
        return "\n".join(line.text(Style(digits)) for line in self.lines)

    def markdown(self, digits: int = 4) -> str:
        """Formulas of LaTeX under the address."""
        formulas = [f"$${line.text(Style(digits, latex=True))}$$" for line in self.lines]
        return "\n\n".join([f"`{self.address}`", *formulas])


def explain_value(
    seen: Seen, address: str, *, row: int = 0, column: int = 0, head: int = 0, batch: int = 0, step: int = -1
) -> Explanation:
    """The calculation of one number of a recorded run of a Transformer, in evaluation.

    Args:
        seen: the run; all that the number is made of has to be recorded.
        address: of the value, such as `decoder.1.cross.weights`.
        row: the token, the query of scores and weights.
        column: the feature; the key of scores and weights; the word of logits.
        head: of what has heads.
        batch: which row of the batch.
        step: which of several runs, in decoding; the last by default.

    Raises:
        KeyError: it was not recorded, or something that it is made of was not.
        ValueError: how it came about is not known here.
        IndexError: there is no such row, column or head.
    """
    run = Run(seen, batch, step)
    value = run.get(address)
    place = (head, row, column) if value.ndim == 3 else (row, column)
    if any(not 0 <= index < size for index, size in zip(place, value.shape, strict=True)):
        raise IndexError(f"{address} is {list(value.shape)} here, and {list(place)} was asked for")
    return Explanation(address, calculation(run, address, *place), value[place].item())


def calculation(run: Run, address: str, *place: int) -> list[Line]:
    """The lines of an address at a place: head, row and column, or the last two.

    Raises:
        ValueError: how it came about is not known here.
    """
    path, what = split(run, address)
    match run.module(path):
        case MultiHeadAttention() if what in ("query", "key", "value"):
            return attention.projected(run, path, what, *place)
        case MultiHeadAttention() if what in ATTENTION:
            return ATTENTION[what](run, path, *place)
        case LayerNorm() | RMSNorm() | BatchNorm():
            return layers.norm(run, path, *place)
        case FeedForward() | SwiGLU():
            return layers.feed_forward(run, path, what, *place)
        case TokenEmbedding():
            return layers.embedding(run, path, *place)
        case EncoderLayer() | DecoderLayer():
            return layers.residual(run, path, what, *place)
        case Stack():
            return (layers.stack_input if what == "input" else layers.stack_output)(run, path, *place)
        case _ if what == "logits":
            return layers.logit(run, *place)
    raise ValueError(f"how {address} came about is not known here")


def split(run: Run, address: str) -> tuple[str, str]:
    """The module of an address, and the name of the value there; a map's own name is that of what comes out of it."""
    modules = dict(run.seen.model.named_modules())
    if address in modules and not isinstance(modules[address], nn.Linear):
        return address, ""
    path, _, what = address.rpartition(".")
    return path, what
