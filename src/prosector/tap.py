"""Taps: the points at which a running model can be watched and changed.

A module hands every intermediate value through `tap(self, "name", value)`. Unless
somebody observes, that is the identity: one look at a context variable. The observer
lives in a context variable, so that two threads, one observing and one not, never mix.

This file is the floor of the house: it imports nothing of the project.
"""

from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn


class Observer(Protocol):
    """Whoever watches a run: `prosector.observe` has the one that people use."""

    def visit(self, module: nn.Module, name: str, value: Tensor) -> Tensor:
        """See a value on its way, and return it or what shall stand in its place."""
        ...

    def wants(self, module: nn.Module, name: str) -> bool:
        """Whether this value shall be formed even if the fast kernel never forms it."""
        ...

    def edits(self, module: nn.Module, name: str) -> bool:
        """Whether this value may be changed, so that all that follows must be computed from it."""
        ...

    def mask(self, module: nn.Module, mask: Any) -> Any:
        """The rule of what an attention may look at, or that which shall stand in its place."""
        ...


M = TypeVar("M")
observer: ContextVar[Observer | None] = ContextVar("prosector_observer", default=None)


def current_observer() -> Observer | None:
    """Who observes this thread's run; nobody under `torch.compile` and in an export."""
    if torch.compiler.is_compiling():
        return None
    return observer.get()


def tap(module: nn.Module, name: str, value: Tensor) -> Tensor:
    """Show a value to the observer, if there is one, under the address `<module's path>.<name>`."""
    watching = current_observer()
    return value if watching is None else watching.visit(module, name, value)


def tap_mask(module: nn.Module, mask: M) -> M:
    """Let the observer, if there is one, put another mask in the place of an attention's; a mask is no tensor."""
    watching = current_observer()
    return mask if watching is None else watching.mask(module, mask)
