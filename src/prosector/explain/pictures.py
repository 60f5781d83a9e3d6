"""Runs of models that see: where a ViT's patches look, and what the gates of an Attention U-Net let pass."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from prosector.data.pictures import read_picture
from prosector.decoding.classifier import Classifier
from prosector.decoding.segmenter import Segmenter
from prosector.explain.arrays import packed
from prosector.explain.machine import machine
from prosector.explain.options import RunOptions
from prosector.explain.texts import unchanged
from prosector.explain.values import recorded, roles
from prosector.models.vit import ViT
from prosector.observe import Seen, observe

LARGEST = 512 * 512  # places of a picture that is shown


@dataclass(frozen=True)
class PictureRun:
    """What came out of a picture: the chances of classes, of all of it or of each place; and what was seen."""

    ability: Any
    options: RunOptions
    picture: Tensor  # [C, H, W], 0 to 1
    chances: Tensor  # [classes], or [classes, H, W]
    model: nn.Module
    seen: Seen

    def document(self) -> dict[str, Any]:
        """All that the page shows of this run."""
        is_vit = isinstance(self.model, ViT)
        whole = self.chances.ndim == 1
        return {
            "kind": self.ability.config.kind,
            "task": "class" if whole else "segment",
            "text": Path(self.options.text).name,
            "options": self.options.model_dump(),
            "config": self.ability.config.model.model_dump(mode="json"),
            "languages": [],
            "sequences": {"patches": self.patches() if is_vit else []},
            "machine": machine(self.model, {"encoder": "patches"} if is_vit else {}),
            "output": self.ability.config.classes[int(self.chances.argmax())] if whole else "",
            "written": [self.class_token(int(self.chances.argmax()))] if whole else [],
            "score": 0.0,
            "steps": [self.step()] if whole else [],
            "values": recorded(self.seen, "f4", ("*",)) if is_vit else {},
            "roles": roles(self.seen) if is_vit else {},
            "lens": None,
            "shares": None,
            "tree": None,
            "greedy": None,
            "picture": self.picture_document(),
        }

    def patches(self) -> list[dict[str, Any]]:
        """The tokens of a ViT: its class token, if it has one, and each patch by its row and column."""
        model: Any = self.model
        rows, columns = model.config.grid(*self.picture.shape[-2:])
        names = ["[class]"] * len(model.prefix)
        names += [f"{row + 1},{column + 1}" for row in range(rows) for column in range(columns)]
        return [
            {"id": number, "text": name, "space": False, "special": name == "[class]"}
            for number, name in enumerate(names)
        ]

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
        if isinstance(self.model, ViT):
            shown["grid"] = list(self.model.config.grid(*grey.shape))
            shown["prefix"] = len(self.model.prefix)
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
    unchanged(options)
    picture = read_picture(Path(options.text), ability.config.model.d_input)
    if picture.shape[-2] * picture.shape[-1] > LARGEST:
        raise ValueError(f"{options.text} has {picture.shape[-2]} × {picture.shape[-1]} places; {LARGEST:,} are shown")
    if isinstance(ability, Classifier):
        picture = ability.fitted(picture, invert=False)
        with observe(ability.model) as seen:
            chances = ability.logits(picture[None])[0].softmax(dim=0)
    else:
        with observe(ability.model, keep=["*.coefficients"]) as seen:
            chances = ability.chances(picture[None])[0]
    return PictureRun(ability, options, picture, chances, ability.model, seen)
