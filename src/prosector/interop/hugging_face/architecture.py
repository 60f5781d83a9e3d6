"""What is known of each architecture of theirs: how its config reads as ours, and its weights; and the way back."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from prosector.interop.hugging_face.rules import Rule
from prosector.interop.hugging_face.settings import Settings


def no_way_back(config: Any) -> dict[str, Any]:
    """Nothing of ours is written as this architecture.

    Raises:
        ValueError: always.
    """
    raise ValueError(f"a model of the kind {config.kind} is not written as this architecture")


@dataclass(frozen=True)
class Architecture:
    """One of theirs.

    Attributes:
        name: its `model_type`.
        classes: the classes of transformers that can be read, the one that is written first.
        defaults: its config's defaults.
        config_of: our config, from theirs and the names of the weights that there are.
        rules: which weight is which, for one of our configs.
        settings_of: their config for one of ours; an error names what they cannot express.
        prefix: what names of weights begin with; files of a model without a head leave it out.
        ignored: patterns of names that say nothing.
        renamed: older names of parts of names, and what they are called now.
    """

    name: str
    classes: tuple[str, ...]
    defaults: dict[str, Any]
    config_of: Callable[[Settings, Collection[str]], Any]
    rules: Callable[[Any], list[Rule]]
    settings_of: Callable[[Any], dict[str, Any]] = no_way_back
    prefix: str = ""
    ignored: tuple[str, ...] = ()
    renamed: dict[str, str] = field(default_factory=dict)

    def says_nothing(self, name: str) -> bool:
        """Whether a weight of this name may be there or not."""
        return any(re.fullmatch(pattern, name) for pattern in self.ignored)

    def full_names(self, weights: dict[str, Any]) -> dict[str, Any]:
        """Weights by the names that they have today, with their prefix."""
        now = {self.name_now(name): value for name, value in weights.items()}
        if self.prefix and not any(name.startswith(self.prefix) for name in now):
            return {f"{self.prefix}{name}": value for name, value in now.items()}
        return now

    def name_now(self, name: str) -> str:
        """A name with its older parts replaced."""
        for before, after in self.renamed.items():
            name = re.sub(before, after, name)
        return name
