"""The rules that encoder-decoders share: the same part has the same name in every layer."""

from __future__ import annotations

from prosector.interop.hugging_face.rules import Rule, both


def attention(theirs: str, ours: str, names: tuple[str, str, str, str], bias: bool) -> list[Rule]:
    """The four maps of an attention, by their names of query, key, value and output."""
    parts = zip(names, ("query", "key", "value", "output"), strict=True)
    return [rule for their, our in parts for rule in both(f"{theirs}.{their}", f"{ours}.{our}", bias)]
