"""Which of their weights is which of ours, as rules that can be read in both directions.

A rule takes some tensors of theirs and makes some of ours, or the other way round: one to one (`same`), turned
(`turned`: GPT-2 keeps its matrices [in, out]), or one that holds queries, keys and values together (`joined`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from prosector.models.weights import weights_of

Tensors = Sequence[Tensor]


class Rule(NamedTuple):
    """Some of their weights are some of ours.

    Attributes:
        theirs: their names.
        ours: our names.
        read: from theirs to ours, in the order of the names.
        write: back.
    """

    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    read: Callable[[Tensors], Tensors]
    write: Callable[[Tensors], Tensors]


def same(theirs: str, ours: str) -> Rule:
    """One weight, as it is."""
    return Rule((theirs,), (ours,), lambda given: given, lambda given: given)


def turned(theirs: str, ours: str) -> Rule:
    """One matrix, turned: theirs is [in, out]."""
    return Rule((theirs,), (ours,), lambda given: [given[0].T], lambda given: [given[0].T])


def copied(theirs: str, ours: Sequence[str]) -> Rule:
    """One of theirs is several of ours, which do not know of each other."""
    return Rule((theirs,), tuple(ours), lambda given: [given[0]] * len(ours), lambda given: given[:1])


def joined(theirs: str, ours: Sequence[str], turn: bool = False) -> Rule:
    """Several of ours lie one below the other in one of theirs; turned, side by side."""

    def read(given: Tensors) -> Tensors:
        return (given[0].T if turn else given[0]).chunk(len(ours))

    def write(given: Tensors) -> Tensors:
        whole = torch.cat(list(given))
        return [whole.T if turn else whole]

    return Rule((theirs,), tuple(ours), read, write)


def by_head(theirs: str, ours: Sequence[str], n_heads: int) -> Rule:
    """Several of ours lie in one of theirs, head by head: q, k, v of the first head, then those of the second, …"""

    def read(given: Tensors) -> Tensors:
        whole = given[0].unflatten(0, (n_heads, len(ours), -1))  # [H, 3, d_head, ..]
        return [part.flatten(0, 1) for part in whole.unbind(1)]

    def write(given: Tensors) -> Tensors:
        parts = [part.unflatten(0, (n_heads, -1)) for part in given]
        return [torch.stack(parts, dim=1).flatten(0, 2)]

    return Rule((theirs,), tuple(ours), read, write)


def both(theirs: str, ours: str, bias: bool = True) -> list[Rule]:
    """The weight of a map or a norm, and its bias if it has one."""
    return [same(f"{theirs}.{part}", f"{ours}.{part}") for part in (["weight", "bias"] if bias else ["weight"])]


def written(own: Mapping[str, Tensor], rules: Iterable[Rule]) -> dict[str, Tensor]:
    """Our weights under their names."""
    found: dict[str, Tensor] = {}
    for rule in rules:
        tensors = rule.write([own[name] for name in rule.ours])
        found |= {name: tensor.contiguous() for name, tensor in zip(rule.theirs, tensors, strict=True)}
    return found


def read(
    given: Mapping[str, Tensor], model: nn.Module, rules: Sequence[Rule], ignored: Callable[[str], bool]
) -> dict[str, Tensor]:
    """Their weights under our names.

    Args:
        given: theirs.
        model: ours, whose shapes they must have.
        rules: which is which.
        ignored: whether a surplus weight is known to say nothing: a mask, say, that older files hold.

    Raises:
        ValueError: weights are missing, surplus, of another shape, or no numbers; all are listed by their names.
    """
    wanted = written(weights_of(model), rules)
    shared = wanted.keys() & given.keys()
    faults = {
        "missing": sorted(wanted.keys() - given.keys()),
        "surplus": sorted(name for name in given.keys() - wanted.keys() if not ignored(name)),
        "of another shape": [
            f"{name} {list(given[name].shape)} for {list(wanted[name].shape)}"
            for name in sorted(shared)
            if given[name].shape != wanted[name].shape
        ],
        "not finite": sorted(name for name in shared if not given[name].isfinite().all()),
    }
    if any(faults.values()):
        listed = "; ".join(f"{what}: {', '.join(names)}" for what, names in faults.items() if names)
        raise ValueError(f"the weights do not fit the config: {listed}")
    found: dict[str, Tensor] = {}
    for rule in rules:
        tensors = rule.read([given[name] for name in rule.theirs])
        found |= dict(zip(rule.ours, tensors, strict=True))
    return found
