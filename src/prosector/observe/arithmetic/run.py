"""A recorded run, asked for numbers: which value stands where, and what a layer's parts were given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from prosector.blocks import DecoderLayer, EncoderLayer
from prosector.blocks.residual import PreNorm
from prosector.blocks.stack import Stack
from prosector.models.conv_transformer import ConvLayer, Stage
from prosector.observe.observing import Seen

# The sublayers of a layer in order: where what comes out of each is recorded, and where its sum with the path is.
SUBLAYERS: dict[type, tuple[tuple[str, str], ...]] = {
    EncoderLayer: (("attention", ".attended"), ("feed_forward", "")),
    DecoderLayer: (("self", ".looked_back"), ("cross", ".looked_across"), ("feed_forward", "")),
    ConvLayer: (("attention.attention", ".attended"), ("feed_forward", "")),
}


@dataclass(frozen=True)
class Place:
    """A part of a layer: its stack, its layer, and the number of its sublayer (that of a norm, for a norm)."""

    stack: str
    layer: str
    number: int
    sublayer: int


@dataclass(frozen=True)
class Run:
    """One row of the batch of a run that was seen; in decoding, one of its steps.

    Args:
        batch: the row.
        step: -1 is the last.
    """

    seen: Seen
    batch: int = 0
    step: int = -1

    def module(self, path: str) -> Any:
        """A part of the model."""
        return self.seen.model.get_submodule(path)

    def get(self, address: str, step: int | None = None) -> Tensor:
        """What was recorded, this row's, in float64.

        Raises:
            KeyError: nothing was recorded there.
            IndexError: there is no such step.
        """
        steps, wanted = self.seen.steps(address), self.step if step is None else step
        if not -len(steps) <= wanted < len(steps):
            raise IndexError(f"{address} was seen {len(steps)} times, and step {wanted} was asked for")
        value = steps[wanted]
        return value[min(self.batch, len(value) - 1)].double()

    def vector(self, address: str, row: int) -> Tensor:
        """One token's vector."""
        return self.get(address)[row]

    # Where things are

    def stack_of(self, path: str) -> str:
        """The stack that a part belongs to.

        Raises:
            ValueError: to none.
        """
        parts = path.split(".")
        for end in range(len(parts), 0, -1):
            if isinstance(self.module(".".join(parts[:end])), Stack | Stage):
                return ".".join(parts[:end])
        raise ValueError(f"{path} is no part of a stack of layers")

    def place(self, path: str) -> Place:
        """Where a sublayer or a norm of a layer stands."""
        stack = self.stack_of(path)
        number, name = path.removeprefix(f"{stack}.").split(".")[:2]
        layer = f"{stack}.{number}"
        names = [sublayer.split(".")[0] for sublayer, _ in self.sublayers(layer)]
        sublayer = int(name.removeprefix("norm")) - 1 if name.startswith("norm") else names.index(name)
        return Place(stack, layer, int(number), sublayer)

    def sublayers(self, layer: str) -> tuple[tuple[str, str], ...]:
        """A layer's sublayers, and where what comes out of each is recorded."""
        return SUBLAYERS[type(self.module(layer))]

    def is_pre_norm(self, layer: str) -> bool:
        """Whether norms stand before sublayers."""
        return isinstance(self.module(layer).residual, PreNorm)

    def before(self, place: Place) -> str:
        """Where the vectors are recorded that come along the path to a sublayer."""
        if place.sublayer:
            return place.layer + self.sublayers(place.layer)[place.sublayer - 1][1]
        return f"{place.stack}.{place.number - 1}" if place.number else f"{place.stack}.input"

    def given(self, place: Place) -> str:
        """Where the vectors are recorded that a sublayer reads."""
        return f"{place.layer}.norm{place.sublayer + 1}" if self.is_pre_norm(place.layer) else self.before(place)

    # Steps of decoding

    def lengths(self, address: str) -> list[int]:
        """How many tokens went by at an address at each step."""
        return [value.shape[1] for value in self.seen.steps(address)]

    def count_before(self, address: str) -> int:
        """How many tokens went by there before this step."""
        lengths = self.lengths(address)
        return sum(lengths[: self.step % len(lengths)])

    def step_of(self, stack: str, position: int) -> tuple[int, int]:
        """The step in which a place of a text was read, and its row there."""
        for step, length in enumerate(self.lengths(f"{stack}.input")):
            if position < length:
                return step, position
            position -= length
        raise ValueError(f"nothing of {stack} was recorded at position {position}")

    def positions(self, stack: str, step: int | None = None) -> Tensor:
        """Where the encoding took the tokens of a step to be: [L], or [L, axes] in a picture."""
        return self._of_row(self.seen.steps(f"{stack}.positions")[self.step if step is None else step])

    def key_positions(self, stack: str) -> Tensor:
        """The same of all keys, those of earlier steps included."""
        name = f"{stack}.key_positions"
        return self._of_row(self.seen.steps(name)[self.step]) if name in self.seen else self.positions(stack)

    def _of_row(self, positions: Tensor) -> Tensor:
        shared = positions.ndim == 1 or positions.is_floating_point()
        return positions if shared else positions[min(self.batch, len(positions) - 1)]

    def memory(self) -> Tensor:
        """What cross-attention reads, [Ls, d]."""
        return self.get("encoder", step=-1)


def numbers(values: Tensor) -> list[float]:
    """A tensor as numbers."""
    return [float(value) for value in values]


def bias_of(linear: nn.Linear, row: int) -> float | None:
    """What a linear map adds to one of its outputs."""
    return None if linear.bias is None else float(linear.bias.detach()[row])


def weight_of(linear: nn.Linear, row: int) -> list[float]:
    """The weights of one of its outputs."""
    return numbers(linear.weight.detach()[row].to(torch.float64).flatten())


def unknown(address: str) -> NoReturn:
    """Say that it is not known here how a value came about.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"how {address} came about is not known here")
