"""What a page asks of the Python that holds its model, by whichever way: a run, or the arithmetic of a cell.

run     a text, the search, what is changed → the document of the run
value   a run's number and a cell → its arithmetic
"""

from __future__ import annotations

from typing import Any

from prosector.explain.explainer import Explainer
from prosector.explain.options import options_from
from prosector.explain.value import cell_from

QUESTIONS = ("run", "value")


def answer(explainer: Explainer, question: str, given: Any) -> dict[str, Any]:
    """The answer to one of `QUESTIONS`.

    Raises:
        ValueError: there is no such question, or what is asked for is impossible.
    """
    if question not in QUESTIONS:
        raise ValueError(f"nobody answers {question!r}; ask {' or '.join(QUESTIONS)}")
    if not isinstance(given, dict):
        raise ValueError(f"a request is an object, not {type(given).__name__}")
    if question == "run":
        return explainer.run(options_from(given))
    number = given.get("run")
    if not isinstance(number, int):
        raise ValueError(f"run is {number!r}; give a run's number")
    return explainer.value(number, cell_from({name: value for name, value in given.items() if name != "run"}))
