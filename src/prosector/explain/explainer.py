"""A model that explains itself: runs it, keeps the last few runs, and answers what the page asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from threading import Lock
from typing import Any

import torch

from prosector.decoding import Translator
from prosector.decoding.classifier import Classifier
from prosector.decoding.reader import Reader
from prosector.decoding.segmenter import Segmenter
from prosector.decoding.writer import TextWriter
from prosector.explain.arrays import Precision
from prosector.explain.changeable import changeable, heads_of, refuse
from prosector.explain.options import RunOptions
from prosector.explain.pictures import see
from prosector.explain.positions import positions
from prosector.explain.texts import fill, go_on
from prosector.explain.translation import translate
from prosector.explain.value import Cell, arithmetic
from prosector.explain.values import recorded
from prosector.observe import Seen

FORMAT = 1
KEPT = 8  # runs whose values are kept to be asked for, the first and the last ones
WHATIF_VALUES = ("decoder.*.cross.weights",)


RUNS: dict[type, Callable[[Any, RunOptions], Any]] = {
    Translator: translate,
    TextWriter: go_on,
    Reader: fill,
    Classifier: see,
    Segmenter: see,
}


class Explainer:
    """A model and its last runs. One run at a time: two would only share the processor.

    Args:
        name: what the model is called.
        ability: the model as what it can do: a `Translator`, a `TextWriter`, …
        only: the one text that it takes, if any other is to be refused: a picture's file, of which a page must not
            choose another.
    """

    def __init__(self, name: str, ability: Any, only: str | None = None) -> None:
        self.name, self.ability, self.only = name, ability, only
        self.act = next(act for kind, act in RUNS.items() if isinstance(ability, kind))
        self.runs: dict[int, Seen] = {}
        self.number = 0
        self.lock = Lock()

    @cached_property
    def positions(self) -> dict[str, Any]:
        """Its encodings, and all others."""
        return positions(self.ability.model)

    def run(self, options: RunOptions) -> dict[str, Any]:
        """Run the model, and say all about it.

        Raises:
            ValueError: it cannot be run so.
        """
        if self.only is not None and options.text != self.only:
            raise ValueError("this page shows the one picture that it was opened with")
        refuse(self.ability, options)
        with self.lock, torch.inference_mode():
            run = self.act(self.ability, options)
            document = run.document()
            self.number += 1
            self.runs[self.number] = run.seen
            while len(self.runs) > KEPT:  # the first stays: the page itself shows it
                del self.runs[next(number for number in self.runs if number > 1)]
            document |= {"format": FORMAT, "run": self.number, "model": self.name}
            document["changeable"] = changeable(self.ability)
            return document

    def page(self, options: RunOptions) -> dict[str, Any]:
        """What the page begins with: a run, and the encodings of positions."""
        return self.run(options) | {"positions": self.positions}

    def values(self, number: int, precision: Precision, keep: tuple[str, ...]) -> dict[str, Any]:
        """The recorded values of a run that is kept, in another precision, or fewer of them."""
        return recorded(self.runs[number], precision, keep)

    def value(self, number: int, cell: Cell) -> dict[str, Any]:
        """The arithmetic of one cell of a run.

        Raises:
            ValueError: the run is no longer kept, or there is no such cell.
        """
        with self.lock, torch.inference_mode():
            if number not in self.runs:
                raise ValueError(
                    f"run {number} is no longer kept, only the first and the last {KEPT - 1} are; run it again"
                )
            return arithmetic(self.runs[number], cell)

    def whatifs(self, options: RunOptions) -> Iterator[dict[str, Any]]:
        """What would be without the mask, without positions, without each head: for a page without a server."""
        for change in self.changes():
            with self.lock, torch.inference_mode():
                yield self.act(self.ability, options.model_copy(update=change)).outcome("f2", WHATIF_VALUES)

    def changes(self) -> list[dict[str, Any]]:
        """The changes that a page without a server brings along; none if the model has nothing to take away."""
        known = changeable(self.ability)
        whole = [{f"{what}_off": True} for what in ("mask", "positions") if what in known]
        heads = [(address, head) for address, n_heads in heads_of(self.ability.model) for head in range(n_heads)]
        return [*whole, *({"heads_off": (head,)} for head in heads)]
