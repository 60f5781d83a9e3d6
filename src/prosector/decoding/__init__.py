"""From a model to text: greedy, beam search and sampling, each with the cache; and the translator around them.

`step.py` and `path.py` come first, then `greedy.py`, `sampling.py`, `beam.py`; `repetition.py` guards all
three. `translator.py` turns text into ids and back; `folder.py` and `installed.py` find the models.
"""

from prosector.decoding.beam import beam_search
from prosector.decoding.candidate import Candidate
from prosector.decoding.greedy import greedy
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.installed import find_model, installed_models
from prosector.decoding.repetition import RepetitionGuard
from prosector.decoding.sampling import sample
from prosector.decoding.translator import Translator, load, translator_for

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
