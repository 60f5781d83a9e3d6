"""A recipe with every key that there is, its value and what it means: `prosector train [RECIPE] --keys`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

WIDTH = 32  # of a key and its value, where the meaning stands beside them


def written_out(config: BaseModel) -> Iterator[str]:
    """The lines of a TOML file that says all of a config; keys that are not given are commented out."""
    tables = [name for name in type(config).model_fields if isinstance(getattr(config, name), BaseModel)]
    for name, field in type(config).model_fields.items():
        if name not in tables:
            yield from explained(name, field, getattr(config, name))
    for name in tables:
        yield from ("", f"[{name}]")
        table = getattr(config, name)
        for key in sorted(type(table).model_fields, key=lambda key: key != "kind"):  # the kind comes first
            yield from explained(key, type(table).model_fields[key], getattr(table, key))


def explained(name: str, field: FieldInfo, value: object) -> Iterator[str]:
    """A key with its value, and its meaning beside it, or above where there is no room."""
    meaning = f"{field.description}{allowed(field.annotation)}"
    if isinstance(value, Sequence) and value and isinstance(value[0], BaseModel):
        yield f"# {meaning}"
        yield from (f"{name} = [", *(f"    {as_toml(one)}," for one in value), "]")
        return
    line = f"# {name} =" if value is None else f"{name} = {as_toml(value)}"
    yield from (f"{line:<{WIDTH}}# {meaning}",) if len(line) < WIDTH else (f"# {meaning}", line)


def allowed(annotation: object) -> str:
    """What a value may be, where it is one of a few words; of a part of several kinds, the kinds."""
    if get_origin(annotation) is Literal and len(get_args(annotation)) > 1:
        return f" ({', '.join(map(str, get_args(annotation)))})"
    kinds = [kind for choice in get_args(annotation) for kind in kinds_of(choice)]
    return f" ({', '.join(kinds)})" if kinds else ""


def kinds_of(choice: object) -> list[str]:
    """The kind of one part that can be chosen."""
    part = get_args(choice)[0] if get_origin(choice) is Annotated else choice
    field = part.model_fields.get("kind") if isinstance(part, type) and issubclass(part, BaseModel) else None
    return [] if field is None else [str(field.default) if isinstance(field.default, str) else "a class of your own"]


def as_toml(value: object) -> str:
    """A value as TOML writes it: as JSON does, but for tables."""
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_none=True, exclude_defaults=type(value).__name__ == "FileConfig")
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {as_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
