"""The page in a cell of a notebook: `from prosector.explain import show`.

What is saved with the notebook is the page as a file would hold it, what-ifs and all, so that it can be looked at later
without Python. While Python runs, the page asks it by the widget's messages; there is no server.

    from the page   {id, what: "hello" | "run" | "value", given}
    to the page     {id, answer: JSON} or {id, error: one line}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prosector.decoding.any_model import load_any
from prosector.decoding.classifier import Classifier
from prosector.decoding.segmenter import Segmenter
from prosector.explain.answers import answer
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import as_json, bundle, first_that_fits

try:
    import anywidget
    import traitlets
except ImportError as error:
    raise ImportError("a page in a notebook takes anywidget: pip install 'prosector[jupyter]'") from error


class Page(anywidget.AnyWidget):
    """A run of a model in a notebook.

    Args:
        explainer: the model.
        options: the run that it begins with.
        whatifs: whether what-ifs are computed now, for those who look at it later without Python.

    Raises:
        ValueError: the model cannot be run so, or the run is too long to be saved.
    """

    _esm = bundle("widget.js")
    document = traitlets.Unicode().tag(sync=True)

    def __init__(self, explainer: Explainer, options: RunOptions, whatifs: bool = True) -> None:
        found = list(explainer.whatifs(options)) if whatifs else []
        document = first_that_fits(explainer, options, found, as_json)
        if document is None:
            raise ValueError(f"{options.text[:40]!r} is too long for a page in a notebook; prosector explain serves it")
        super().__init__(document=document)
        self.explainer = explainer
        self.on_msg(self._hear)

    def _hear(self, _: Any, message: Any, buffers: Any) -> None:
        self.send({"id": message.get("id")} | self.reply(message.get("what"), message.get("given")))

    def reply(self, what: Any, given: Any) -> dict[str, str]:
        """What a message is answered with; a mistake is a line, as from the server."""
        try:
            return {"answer": "{}" if what == "hello" else as_json(answer(self.explainer, what, given))}
        except ValueError as error:
            return {"error": " ".join(str(error).split())}
        except Exception as error:
            return {"error": f"a fault of Prosector's: {type(error).__name__}: {error}"}


def explainer_of(model: Any, text: str) -> Explainer:
    """A model that explains itself: by its name, its folder, or as what `prosector.load` gave."""
    if isinstance(model, Explainer):
        return model
    is_named = isinstance(model, str | Path)
    ability = load_any(model) if is_named else model
    sees = isinstance(ability, Classifier | Segmenter)
    return Explainer(Path(model).name if is_named else ability.config.kind, ability, only=text if sees else None)
