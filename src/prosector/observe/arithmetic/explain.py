"""A recorded number, written out as the calculation that made it.

with observe(model) as seen:
    model(src, tgt)
print(explain_value(seen, "encoder.0.attention.scores", head=1, row=2, column=3).text())

score[2, 3] = (0.3100·0.1200 + … ) · 0.1250 = 1.7300
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from prosector.attention import AdditiveAttention, AttentionGate, MultiHeadAttention
from prosector.blocks import (
    DecoderLayer,
    DoubleConvolution,
    EncoderLayer,
    FeedForward,
    Recurrent,
    SwiGLU,
    TokenEmbedding,
)
from prosector.blocks.conv_attention import Neighbourhood
from prosector.blocks.norms import BatchNorm, LayerNorm, RMSNorm
from prosector.blocks.stack import Stack
from prosector.models.bert import Bert
from prosector.models.conv_transformer import ConvLayer, ConvTransformer, Stage
from prosector.models.gpt import Gpt
from prosector.models.rnn import RnnTranslator
from prosector.models.rnn_attention import RnnAttentionTranslator
from prosector.models.transformer import Transformer
from prosector.models.unet import UNet
from prosector.models.vit import ViT
from prosector.observe.arithmetic import attention, layers, outputs, pictures, recurrent
from prosector.observe.arithmetic.lines import Line, Style
from prosector.observe.arithmetic.run import Run, unknown
from prosector.observe.observing import Seen

ATTENTION: dict[str, Callable[..., list[Line]]] = {
    "scores": attention.score,
    "weights": attention.weight,
    "heads": attention.mixed,
    "": attention.output,
}
GIVEN = ("pictures", "positions", "key_positions")  # what nothing was computed for
MEASURED = "recomputed"


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
    """The calculation of one number of a recorded run, in evaluation, of any of the nine kinds of models.

    Args:
        seen: the run; all that the number is made of has to be recorded.
        address: of the value, such as `decoder.1.cross.weights`.
        row: the token, the query of scores and weights; of a picture the row.
        column: the feature; the key of scores and weights; the word or class of logits; of a picture the column.
        head: of what has heads; of a picture the channel.
        batch: which row of the batch.
        step: which of several runs, in decoding; in recurrent networks, which token. The last by default.

    Raises:
        KeyError: it was not recorded, or something that it is made of was not.
        ValueError: how it came about is not known here: it was given and not computed, or edited, or dropped, or
            its row stood elsewhere in an earlier step, as in beam search.
        IndexError: there is no such row, column, head or step.
    """
    run = Run(seen, batch, step)
    require_computed(address)
    value = run.get(address)
    place = (head, row, column)[-value.ndim :]
    if any(not 0 <= index < size for index, size in zip(place, value.shape, strict=True)):
        raise IndexError(f"{address} is {list(value.shape)} here, and {list(place)} was asked for")
    found = Explanation(address, calculation(run, address, *place), value[place].item())
    require_true(found, value, [seen[address].dtype, *(weight.dtype for weight in seen.model.parameters())])
    return found


def require_computed(address: str) -> None:
    """It is a value that a model computes.

    Raises:
        ValueError: it was given, or measured by the observer.
    """
    name = address.rsplit(".", 1)[-1]
    if name in GIVEN:
        raise ValueError(f"{address} was given to the model, and no calculation made it")
    if name == MEASURED:
        raise ValueError(f"{address} is no value of the model: it says how far two ways of computing one are apart")


def require_true(found: Explanation, value: Tensor, dtypes: Iterable[torch.dtype]) -> None:
    """The calculation gives the model's own number, within the rounding of the coarsest type in it.

    Raises:
        ValueError: it does not.
    """
    coarsest = max(torch.finfo(dtype).eps for dtype in set(dtypes))
    rounding = max(1e-4, 8 * coarsest)
    within = rounding * (1 + value.abs().max().item())
    if not abs(found.value - found.recorded) <= within:
        raise ValueError(
            f"{found.address} was {found.recorded:.6g} in the run, and what was recorded gives {found.value:.6g}: "
            "it was edited or dropped, or its row stood elsewhere in an earlier step (beam search)"
        )


def calculation(run: Run, address: str, *place: int) -> list[Line]:
    """The lines of an address at a place: head, row and column, or the last of them.

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
        case EncoderLayer() | DecoderLayer() | ConvLayer():
            return layers.residual(run, path, what, *place)
        case Stack():
            return (layers.stack_input if what == "input" else layers.stack_output)(run, path, *place)
        case Stage():
            return pictures.stage(run, path, what, *place)
        case Neighbourhood():
            return pictures.neighbourhood(run, path, *place)
        case DoubleConvolution():
            return pictures.double_convolution(run, path, what, *place)
        case AttentionGate():
            return pictures.gate(run, path, what, *place)
        case Recurrent():
            return recurrent.cell(run, path, what, *place)
        case AdditiveAttention():
            return recurrent.additive(run, path, what, *place)
        case _ if path == "":
            return of_model(run, what, *place)
    return unknown(address)


def of_model(run: Run, what: str, *place: int) -> list[Line]:
    """What a model itself computes between its parts.

    Raises:
        ValueError: how it came about is not known here.
    """
    match run.seen.model:
        case Transformer() | Gpt() if what == "logits":
            return outputs.logits(run, "decoder", *place)
        case RnnTranslator() | RnnAttentionTranslator():
            return outputs.logits(run, "hidden", *place) if what == "logits" else recurrent.of_model(run, what, *place)
        case Bert():
            return outputs.of_bert(run, what, *place)
        case ViT() if what == "patches":
            return pictures.patch(run, *place)
        case ViT() | ConvTransformer() if what in ("pooled", "logits"):
            return (outputs.pooled if what == "pooled" else outputs.pooled_logit)(run, *place)
        case UNet():
            return pictures.of_unet(run, what, *place)
    return unknown(what)


def split(run: Run, address: str) -> tuple[str, str]:
    """The module of an address, and the name of the value there.

    A map of PyTorch's has no taps: under its name stands what came out of it, shown by the module around it.
    """
    parts, end = address.split("."), 0
    module: nn.Module | None = run.seen.model
    while end < len(parts) and is_ours(module := getattr(module, parts[end], None)):
        end += 1
    return ".".join(parts[:end]), ".".join(parts[end:])


def is_ours(value: object) -> bool:
    """Whether it is a module with taps."""
    return isinstance(value, nn.Module) and not type(value).__module__.startswith("torch.")
