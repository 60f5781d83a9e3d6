"""Figures for papers: one part of a run, drawn from its document as PDF, SVG or PNG.

    decoder.2.cross               the weights of all heads of an attention, a panel each; with a head, that one alone
    decoder.2.cross.alignment     lines from each word written to the words that it looked at; the mean of the heads
    alignment                     the same of the last cross-attention
    candidates                    what might have been written at each step
    beam                          the search as a tree

What is drawn is what the page shows: the numbers come from the same document. How it looks is in `drawing.py`.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from prosector.explain.fonts import LATIN, families_for

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".pdf", ".svg", ".png")
DPI = 300  # of a PNG
COLUMN, PAGE = 3.3, 6.75  # inches: a column of a page with two, and both together
WIDTHS = (1.0, 40.0)

ALIGNMENT, CANDIDATES, BEAM = "alignment", "candidates", "beam"


class Attention(NamedTuple):
    """The weights of one attention [H, Lq, Lk], and what its rows and columns are of."""

    weights: np.ndarray[Any, np.dtype[np.floating[Any]]]
    queries: list[str]
    keys: list[str]
    across: bool

    def head(self, number: int | None, address: str) -> Attention:
        """One head of it, counted from 1; all of them for None.

        Raises:
            ValueError: there is no such head.
        """
        if number is None:
            return self
        if not 1 <= number <= len(self.weights):
            raise ValueError(f"--head {number}: {address} has the heads 1 to {len(self.weights)}")
        return self._replace(weights=self.weights[number - 1 : number])


def unpacked(array: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.floating[Any]]]:
    """The numbers of an array of the document, as `arrays.packed` gave it."""
    return np.frombuffer(b64decode(array["data"]), f"<{array['type']}").reshape(array["shape"])


def attentions(document: dict[str, Any]) -> dict[str, Attention]:
    """The attentions of a run by address, in the order of its data.

    Of a decoder that looks across, a row is called by the word that is written there, as one reads an alignment; of all
    others by the token that looks.
    """
    stacks, sequences = document["machine"]["stacks"], document["sequences"]
    names = {name: [token["text"] for token in tokens] for name, tokens in sequences.items()}
    written = [token["text"] for token in document["written"]]
    found = {}
    for stack in stacks:
        for part in (part for layer in stack["layers"] for part in layer["sublayers"] if "heads" in part):
            if (packed := document["values"].get(f"{part['address']}.weights")) is None:
                continue
            across = part["kind"] == "cross"
            rows = names[stack["sequence"]]
            queries = [*written, *["…"] * (len(rows) - len(written))][: len(rows)] if across else rows
            keys = names[stacks[0]["sequence"]] if across else rows
            found[part["address"]] = Attention(unpacked(packed), queries, keys, across)
    if not stacks and (packed := document["values"].get("attention.weights")) is not None:
        weights = unpacked(packed)[None]  # of a recurrent network: one head, a row a step
        queries = [*written, *["…"] * (weights.shape[1] - len(written))]
        found["attention"] = Attention(weights, queries, names["source"], True)
    return found


def places(document: dict[str, Any]) -> list[str]:
    """What of a run can be drawn, the first choice last but for the general ones."""
    found = attentions(document)
    across = [ALIGNMENT] if any(each.across for each in found.values()) else []
    steps = [CANDIDATES] if document["steps"] else []
    return [*found, *across, *steps, *([BEAM] if document["tree"] else [])]


def draw(
    document: dict[str, Any], at: str | None = None, head: int | None = None, width: float | None = None
) -> Figure:
    """Draw a part of a run.

    Args:
        document: the run, as `Explainer.run` gives it.
        at: what to draw, as above; the last attention, if it is left out.
        head: one head of it, counted from 1.
        width: of the figure, in inches; a column's, or a page's for what has several panels.

    Raises:
        ValueError: there is no such part, head or width, or no font for its tokens.
    """
    from matplotlib import rc_context

    from prosector.explain import drawing

    check_width(width)
    found = attentions(document)
    at = (at or next(reversed(found), CANDIDATES)).removesuffix(".weights")
    if at == ALIGNMENT:
        across = [address for address, each in found.items() if each.across]
        at = f"{across[-1]}.{ALIGNMENT}" if across else at
    address = at.removesuffix(f".{ALIGNMENT}")
    if not places(document):
        raise ValueError(f"a run of a model of the kind {document['kind']} has nothing that can be drawn for a paper")
    if address not in found and at not in places(document):
        raise ValueError(f"nothing to draw at {at!r}; this run has {', '.join(places(document))}")
    if head is not None and address not in found:
        raise ValueError(f"--head {head}: {at} has no heads")

    with rc_context(drawing.STYLE | {"font.family": families_for(text_of(document))}):
        if at == BEAM:
            return drawing.beam(document["tree"], width or PAGE)
        if at == CANDIDATES:
            return drawing.candidates(document["steps"], width or PAGE)
        chosen = found[address].head(head, address)
        if at != address:
            return drawing.alignment(chosen.weights.mean(axis=0), chosen.queries, chosen.keys, width or COLUMN)
        names = [f"head {head}"] if head else [f"head {number + 1}" for number in range(len(chosen.weights))]
        return drawing.heads(chosen, names, width or (COLUMN if len(names) == 1 else PAGE))


def text_of(document: dict[str, Any]) -> str:
    """All that may be written in a figure of a run."""
    tokens = [token for row in (*document["sequences"].values(), document["written"]) for token in row]
    tokens += [candidate["token"] for step in document["steps"] for candidate in step["candidates"]]
    tokens += (document["tree"] or {"tokens": {}})["tokens"].values()
    return "".join(token["text"] for token in tokens) + "…"


def check_width(width: float | None) -> None:
    """Raises ValueError if a figure cannot be so wide."""
    if width is not None and not WIDTHS[0] <= width <= WIDTHS[1]:
        raise ValueError(f"--width {width:g}: a figure is {WIDTHS[0]:g} to {WIDTHS[1]:g} inches wide")


def check_name(path: Path) -> None:
    """Raises ValueError if a figure's file has a name of another kind."""
    if path.suffix.lower() not in FORMATS:
        raise ValueError(f"--figure {path}: a figure is written as {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the same figure gives the same bytes.

    Raises:
        ValueError: the name ends with none of `FORMATS`.
    """
    from matplotlib import rc_context

    from prosector.models.weights import replace_file

    check_name(path)
    kind = path.suffix.lower()[1:]
    # TrueType outlines are embedded as they are, as journals ask; those of Chinese fonts are mostly CFF, which a PDF
    # takes drawn (type 3). In an SVG text stays text, to be searched and edited.
    is_latin = families_of(figure) <= {LATIN}
    how: dict[Any, Any] = {"pdf.fonttype": 42 if is_latin else 3, "svg.fonttype": "none", "svg.hashsalt": "prosector"}
    metadata = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}[kind]
    with rc_context(how):
        replace_file(path, lambda temporary: figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata))


def families_of(figure: Figure) -> set[str]:
    """The fonts that a figure's texts name."""
    from matplotlib.text import Text

    texts: Sequence[Any] = figure.findobj(Text)
    return {family for text in texts if text.get_text() for family in text.get_fontfamily()}
