"""The page: a run of a model on somebody's own words, as one document, in the browser, in a notebook or as one file.

`translation.py` comes first: from a sentence to a document. `change.py` takes parts of the model away, `tree.py`
writes down what a beam search did. `server.py` serves the page, `page.py` writes it as a file, `widget.py` shows it in
a notebook; the sources of what a browser runs are in `web/`. `figure.py` draws one part of a run for a paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from prosector.explain.widget import Page

__all__ = ["show"]


def show(model: str | Path | Any, text: str, *, beam: int = 4, whatifs: bool = True) -> Page:
    """Show the page in a notebook's cell: what a model does with a text, number by number.

        from prosector.explain import show

        show("zh-en", "我喜欢深度学习。")

    Needs pip install 'prosector[jupyter]'.

    Args:
        model: an installed one's name, a folder, or what `prosector.load` gave.
        text: a sentence, a beginning, a text with [MASK], or a picture's file, as the model takes it.
        beam: hypotheses followed at once; 1 is greedy.
        whatifs: compute what-ifs now, so that they are there too where the notebook is only looked at.

    Raises:
        ImportError: anywidget is not installed.
        FileNotFoundError: there is no such model, or no such picture.
        ValueError: the model cannot be run so.
    """
    from prosector.explain.options import options_from
    from prosector.explain.widget import Page, explainer_of

    options = options_from({"text": str(text), "beam": beam})
    return Page(explainer_of(model, options.text), options, whatifs)
