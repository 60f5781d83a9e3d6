"""The same weights, inputs and masks, theirs and ours: how far apart are outputs and gradients?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from prosector.interop import from_torch
from prosector.interop.conformance.report import BOUNDS, Comparison, Difference, Text

Tensors = dict[str, Tensor]


def call_as_theirs(module: nn.Module, inputs: list[Tensor], options: Mapping[str, Any]) -> Any:
    """Call it with torch.nn's arguments."""
    return module(*inputs, **options)


def same_names(gradients: Tensors) -> Tensors:
    """Ours has their names."""
    return gradients


@dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes:
        theirs: makes the reference.
        shapes: of the inputs.
        options: masks and other arguments of the call; floats follow the type that is compared.
        ours: makes ours of the reference.
        call: how ours is called.
        names: their names of weights as ours, to compare gradients.
        evaluation: in evaluation and without gradients, where a reference may take another path.
    """

    text: Text
    theirs: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    ours: Callable[[nn.Module], nn.Module] = from_torch
    call: Callable[[Any, list[Tensor], Mapping[str, Any]], Any] = call_as_theirs
    names: Callable[[Tensors], Tensors] = same_names
    evaluation: bool = False

    def compare(self) -> Comparison:
        """In every type."""
        return Comparison(
            type(self.theirs()).__name__,
            self.text,
            {name: self.difference(getattr(torch, name)) for name in BOUNDS},
        )

    def difference(self, dtype: torch.dtype) -> Difference:
        """In one type; chance begins alike each time and is left as it was."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            theirs = stirred(self.theirs().to(dtype)).train(not self.evaluation)
            ours = self.ours(theirs)
            inputs = [torch.randn(shape, dtype=dtype) for shape in self.shapes]
        options = {name: in_type(value, dtype) for name, value in self.options.items()}
        if self.evaluation:
            with torch.no_grad():
                return Difference(
                    apart(outputs(self.call(ours, inputs, options)), outputs(theirs(*inputs, **options))), None
                )
        mine, of_mine = with_gradients(lambda x: self.call(ours, x, options), ours, inputs)
        wanted, of_theirs = with_gradients(lambda x: theirs(*x, **options), theirs, inputs)
        n_inputs = len(inputs)
        weights = self.names({name: of_theirs[name] for name in list(of_theirs)[n_inputs:]})
        expected = {**dict(list(of_theirs.items())[:n_inputs]), **weights}
        return Difference(apart(mine, wanted), apart(list(of_mine.values()), [expected[name] for name in of_mine]))


def with_gradients(
    call: Callable[[list[Tensor]], Any], module: nn.Module, inputs: list[Tensor]
) -> tuple[list[Tensor], Tensors]:
    """The outputs, and the gradients of their weighted sum: of inputs by number first, then of weights by name."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    results = outputs(call(leaves))
    total = sum((result * torch.cos(torch.arange(result.numel())).view_as(result)).sum() for result in results)
    named = {str(number): leaf for number, leaf in enumerate(leaves)} | dict(module.named_parameters())
    found = torch.autograd.grad(total, list(named.values()), materialize_grads=True)  # type: ignore[arg-type]
    return [result.detach() for result in results], dict(zip(named, found, strict=True))


def outputs(result: Any) -> list[Tensor]:
    """The tensors of a result: attention gives its weights too."""
    return [each for each in result if each is not None] if isinstance(result, tuple) else [result]


def apart(ours: list[Tensor], theirs: list[Tensor]) -> float:
    """The largest difference, relative to the largest number of its tensor where that is above 1."""
    return max(
        ((one - other).abs().max() / other.abs().max().clamp(min=1)).item()
        for one, other in zip(ours, theirs, strict=True)
    )


def stirred(module: nn.Module) -> nn.Module:
    """No weight at a value that hides a mistake: no bias 0, no scale 1."""
    with torch.no_grad():
        for weight in module.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2)
    return module


def in_type(value: Any, dtype: torch.dtype) -> Any:
    """A float mask in the type that is compared."""
    return value.to(dtype) if isinstance(value, Tensor) and value.is_floating_point() else value
