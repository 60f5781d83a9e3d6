"""Runs of models that see: where a picture's patches look, and what the gates of an Attention U-Net let pass."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from prosector.data.pictures import read_picture
from prosector.decoding.classifier import Classifier
from prosector.decoding.segmenter import Segmenter
from prosector.explain.arrays import Precision, packed
from prosector.explain.machine import machine
from prosector.explain.options import RunOptions
from prosector.explain.values import recorded, roles
from prosector.models.conv_transformer import ConvTransformer, Stage
from prosector.models.vit import ViT
from prosector.observe import Seen, observe

LARGEST = 512 * 512  # places of a picture that is shown


@dataclass(frozen=True)
class Grid:
    """Tokens that stand in rows and columns, others before them; each named by its place in its own picture.

    Attributes:
        step: keys that are gathered from every second place are named by these places.
    """

    rows: int
    columns: int
    n_prefix: int
    step: int = 1

    def tokens(self) -> list[dict[str, Any]]:
        """The class token, if there is one, and each place by its row and column."""
        places = product(range(self.rows), range(self.columns))
        names = [f"{1 + self.step * row},{1 + self.step * column}" for row, column in places]
        special = [True] * self.n_prefix + [False] * len(names)
        return [
            {"id": number, "text": name, "space": False, "special": is_special}
            for number, (name, is_special) in enumerate(zip(["[class]"] * self.n_prefix + names, special, strict=True))
        ]


@dataclass(frozen=True)
class PictureRun:
    """What came out of a picture: the chances of classes, of all of it or of each place; and what was seen."""

    ability: Any
    options: RunOptions
    picture: Tensor  # [C, H, W], 0 to 1
    chances: Tensor  # [classes], or [classes, H, W]
    model: nn.Module
    seen: Seen

    def outcome(self, precision: Precision = "f4", keep: Sequence[str] = ("*",)) -> dict[str, Any]:
        """What came out, and the values on the way; arguments as for `Translation.outcome`."""
        whole = self.chances.ndim == 1
        return {
            "options": self.options.model_dump(),
            "sequences": {name: grid.tokens() for name, grid in self.grids.items()},
            "output": self.ability.config.classes[int(self.chances.argmax())] if whole else "",
            "written": [self.class_token(int(self.chances.argmax()))] if whole else [],
            "score": 0.0,
            "steps": [self.step()] if whole else [],
            "values": recorded(self.seen, precision, keep) if self.grids else {},
        }

    def document(self) -> dict[str, Any]:
        """All that the page shows of this run."""
        of_stacks = {"encoder": "patches"} if "patches" in self.grids else {name: name for name in self.grids}
        return self.outcome() | {
            "kind": self.ability.config.kind,
            "task": "class" if self.chances.ndim == 1 else "segment",
            "text": Path(self.options.text).name,
            "config": self.ability.config.model.model_dump(mode="json"),
            "languages": [],
            "machine": machine(self.model, of_stacks),
            "roles": roles(self.seen) if "patches" in self.grids else {},
            "lens": None,
            "shares": None,
            "tree": None,
            "greedy": None,
            "picture": self.picture_document(),
        }

    @cached_property
    def grids(self) -> dict[str, Grid]:
        """The tokens of a model that attends: of a ViT its patches, of a ConvTransformer each stage's, and its keys."""
        model: Any = self.model
        if isinstance(model, ViT):
            return {"patches": Grid(*model.config.grid(*self.picture.shape[-2:]), len(model.prefix))}
        if not isinstance(model, ConvTransformer):
            return {}
        found = {}
        for address, stage in model.named_children():
            if isinstance(stage, Stage):
                rows, columns = self.seen[f"{address}.embed"].shape[-2:]
                found[address] = grid = Grid(rows, columns, len(stage.prefix))
                stride = model.config.stages[len(found) // 2].key_stride
                found[f"{address}.keys"] = Grid(-(-rows // stride), -(-columns // stride), grid.n_prefix, stride)
        return found

    def class_token(self, number: int) -> dict[str, Any]:
        """A class as a token."""
        return {"id": number, "text": self.ability.config.classes[number], "space": False, "special": False}

    def step(self) -> dict[str, Any]:
        """The classes with their probabilities, as candidates."""
        best = self.chances.sort(descending=True)
        likely = [
            {"token": self.class_token(number), "p": p, "logit": 0.0}
            for number, p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]
        return {"candidates": likely[:10], "chosen": {**likely[0], "rank": 1}, "logSum": 0.0, "entropy": 0.0}

    def picture_document(self) -> dict[str, Any]:
        """The picture, and what is laid over it: a grid of patches, or gates and the chances of a class."""
        grey = self.picture.mean(dim=0)
        shown: dict[str, Any] = {"grey": packed(grey), "classes": list(self.ability.config.classes), "over": []}
        shown["grids"] = {name: [grid.rows, grid.columns, grid.n_prefix] for name, grid in self.grids.items()}
        if self.chances.ndim == 3:
            gates = sorted(address for address in self.seen if address.endswith(".coefficients"))
            shown["over"] = [{"name": address, "values": packed(self.seen[address][0, 0])} for address in gates]
            shown["over"].append({"name": "chance", "values": packed(self.chances[-1])})
        return shown


def see(ability: Classifier | Segmenter, options: RunOptions) -> PictureRun:
    """Show a picture to a model.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no picture, or too large a one.
    """
    picture = read_picture(Path(options.text), ability.config.model.d_input)
    if picture.shape[-2] * picture.shape[-1] > LARGEST:
        raise ValueError(f"{options.text} has {picture.shape[-2]} × {picture.shape[-1]} places; {LARGEST:,} are shown")
    if isinstance(ability, Classifier):
        picture = ability.fitted(picture, invert=False)
        changed = copy(ability)
        changed.model = options.change.applied(ability.model)
        with options.change.observed(changed.model, keep=("*",)) as seen:
            chances = changed.logits(picture[None])[0].softmax(dim=0)
        return PictureRun(ability, options, picture, chances, changed.model, seen)
    with observe(ability.model, keep=["*.coefficients"]) as seen:
        chances = ability.chances(picture[None])[0]
    return PictureRun(ability, options, picture, chances, ability.model, seen)
