"""From a model to text: greedy, beam search and sampling, each with the cache; and the translator around them.

`step.py` and `path.py` come first, then `greedy_search.py`, `sampling.py`, `beam.py`; `repetition.py` guards all
three. `texts.py` turns text into ids and back, `translator.py` runs a model on them; `folder.py` and `installed.py`
find the models.

Importing this loads no PyTorch: each name comes from its file when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prosector.decoding.beam import beam_search
    from prosector.decoding.candidate import Candidate
    from prosector.decoding.greedy_search import greedy
    from prosector.decoding.hypothesis import Hypothesis
    from prosector.decoding.installed import find_model, installed_models
    from prosector.decoding.repetition import RepetitionGuard
    from prosector.decoding.sampling import sample
    from prosector.decoding.translator import Translator, load, translator_for

HOMES = {
    "Candidate": "candidate",
    "Hypothesis": "hypothesis",
    "RepetitionGuard": "repetition",
    "Translator": "translator",
    "beam_search": "beam",
    "find_model": "installed",
    "greedy": "greedy_search",
    "installed_models": "installed",
    "load": "translator",
    "sample": "sampling",
    "translator_for": "translator",
}
__all__ = [
    "Candidate",
    "Hypothesis",
    "RepetitionGuard",
    "Translator",
    "beam_search",
    "find_model",
    "greedy",
    "installed_models",
    "load",
    "sample",
    "translator_for",
]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
