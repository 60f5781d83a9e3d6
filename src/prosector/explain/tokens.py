"""Tokens as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prosector.config.special import SpecialIds
from prosector.text import Tokenizer
from prosector.text.imported import ImportedTokenizer

SPACE = "▁"  # how vocabularies write the space before a piece


def special_names(special: SpecialIds) -> dict[int, str]:
    """What the ids that are no text are called."""
    names = {special.pad: "<pad>", special.sos: "<sos>"} | dict.fromkeys(special.ends, "<eos>")
    if getattr(special, "mask", None) is not None:
        names[special.mask] = "[MASK]"
    return {id: name for id, name in names.items() if id is not None}


def token(tokenizer: Tokenizer, id: int, special: SpecialIds) -> dict[str, Any]:
    """A token: its id, its spelling without the mark of a space, whether a space comes before, whether it is text."""
    if isinstance(tokenizer, ImportedTokenizer) and id in tokenizer.specials:  # [CLS] is not called <sos>
        return {"id": id, "text": tokenizer.piece(id), "space": False, "special": True}
    names = special_names(special)
    if id in names:
        return {"id": id, "text": names[id], "space": False, "special": True}
    piece = tokenizer.piece(id) if id < tokenizer.vocab_size else f"#{id}"
    text = piece.removeprefix(SPACE)
    return {"id": id, "text": text or SPACE, "space": piece != text, "special": False}


def tokens(tokenizer: Tokenizer, ids: Iterable[int], special: SpecialIds) -> list[dict[str, Any]]:
    """Several of them, in order."""
    return [token(tokenizer, id, special) for id in ids]
