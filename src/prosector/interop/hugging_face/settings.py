"""The fields of a Hugging Face config.json, read one by one; what ours cannot express is an error that names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prosector.config.base import Config
from prosector.config.special import SpecialIds

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "silu": "swish",
    "swish": "swish",
    "gelu_new": "gelu-tanh",
    "gelu_pytorch_tanh": "gelu-tanh",
}
NAMES_OF_ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "gelu-tanh": "gelu_new"}


class Settings:
    """A config of theirs; a field that it does not say has the default of its architecture.

    Args:
        found: what config.json holds.
        defaults: what transformers takes for a field that is missing or, where the default is not None, null.
    """

    def __init__(self, found: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self.found, self.defaults = found, defaults

    def __getitem__(self, name: str) -> Any:
        """The field of this name.

        Raises:
            ValueError: the config does not say it, and there is no default.
        """
        value = self.found.get(name)
        if value is not None:
            return value
        if name not in self.defaults:
            raise ValueError(f"config.json: {name} is missing")
        return self.defaults[name]

    def require(self, name: str, *allowed: object) -> None:
        """Make sure that a field has a value that can be expressed.

        Raises:
            ValueError: it has another; field, value and what is possible are named.
        """
        if self[name] not in allowed:
            possible = " or ".join(map(repr, allowed))
            raise ValueError(f"config.json: {name} is {self[name]!r}, and only {possible} can be expressed here")

    def activation(self, name: str) -> Any:
        """Our name of an activation.

        Raises:
            ValueError: there is none.
        """
        if self[name] not in ACTIVATIONS:
            raise ValueError(f"config.json: {name} is {self[name]!r}; known are {', '.join(ACTIVATIONS)}")
        return ACTIVATIONS[self[name]]

    def special(self, **others: int | None) -> SpecialIds:
        """Their ids for padding, begin and end, of which null is none; of several ends the first is written."""
        pad, sos, ends = (
            self.found.get(name, self.defaults[name]) for name in ("pad_token_id", "bos_token_id", "eos_token_id")
        )
        ends = ends if isinstance(ends, list) else [ends]
        return SpecialIds(
            pad=pad,
            unk=others.get("unk"),
            sos=others.get("sos", sos),
            eos=ends[0],
            mask=others.get("mask"),
            also_eos=tuple(ends[1:]),
        )


OF_OURS = "prosector"  # the entry of their config.json for what only a folder of ours has a field for


def numbered_labels(n: int) -> dict[str, Any]:
    """The names that transformers gives to classes which have none."""
    names = {number: f"LABEL_{number}" for number in range(n)}
    return {
        "id2label": {str(number): name for number, name in names.items()},
        "label2id": dict(zip(names.values(), names, strict=True)),
    }


def require_expressible(target: str, config: Config, fields: Mapping[str, tuple[object, ...]]) -> None:
    """Make sure that a config of ours says nothing that a target has no field for.

    Args:
        target: its name.
        config: ours.
        fields: what each field may be, by its dotted name; one that a part does not have may be anything.

    Raises:
        ValueError: one is something else; all such fields are named.
    """
    wrong = []
    for name, allowed in fields.items():
        value: Any = config
        for part in name.split("."):
            value = getattr(value, part, allowed[0])
        if value not in allowed:
            wrong.append(f"{name}={value!r} (it can be {' or '.join(map(repr, allowed))})")
    if wrong:
        raise ValueError(f"{target} cannot express {', '.join(wrong)}")
