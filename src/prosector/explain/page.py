"""The page as one file: the bundle, the style and the run in one HTML, which asks nobody for anything.

What a user wrote is data in it: `<` is written as an escape inside JSON, so that no text can end the element that it
stands in, and the page's own policy lets run nothing but the one script whose hash it names.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from prosector.explain.arrays import Precision
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions

STATIC = Path(__file__).parent / "static"
LIMIT = 5_000_000  # bytes of a page

# How much is in it, from all that was recorded to what is needed to see where the model looked.
DETAILS: tuple[tuple[Precision, tuple[str, ...]], ...] = (
    ("f4", ("*",)),
    ("f2", ("*",)),
    ("f2", ("*.scores", "*.weights", "*.query", "*.key", "*.value", "*.heads")),
    ("f2", ("*.scores", "*.weights")),
    ("f2", ("*.weights",)),
)


def bundle(name: str) -> str:
    """A file of the built page.

    Raises:
        FileNotFoundError: it was not built.
    """
    path = STATIC / name
    if not path.is_file():
        raise FileNotFoundError(f"the page is not built ({name} is missing): `make web` builds it, which takes Node")
    return path.read_text("utf-8")


def as_json(document: Any) -> str:
    """A document as JSON that may stand inside a script element."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def html(title: str, head: str, body: str) -> str:
    """The frame that the served page and the file share."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
{head}
</head>
<body>
<div id="app"></div>
{body}
</body>
</html>
"""


def page_of(document: dict[str, Any]) -> str:
    """A document as a page that stands alone."""
    script = bundle("explain.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<link rel="icon" href="data:,">\n<style>{bundle("explain.css")}</style>'
    )
    data = f'<script type="application/json" id="document">{as_json(document)}</script>'
    return html(f"{document['text']} · Prosector", head, f"{data}\n<script>{script}</script>")


def write_page(explainer: Explainer, options: RunOptions, tell: Callable[[int, int], None]) -> str:
    """The run of a text with its what-ifs as one page under 5 MB; where all is too much, with less detail.

    Args:
        tell: called with how many what-ifs are done, of how many.

    Raises:
        ValueError: even the least does not fit.
    """
    bundle("explain.js")
    total = len(explainer.changes())
    whatifs = []
    for number, whatif in enumerate(explainer.whatifs(options), start=1):
        whatifs.append(whatif)
        tell(number, total)
    return fitting(explainer, options, whatifs)


def lighter(whatifs: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Less and less of the what-ifs: without where they looked; the mask and positions alone; none."""
    bare = [whatif | {"values": {}} for whatif in whatifs]
    yield from (bare, bare[:2], [])


def fitting(explainer: Explainer, options: RunOptions, whatifs: list[dict[str, Any]]) -> str:
    """The page with as much detail as it has room for.

    Raises:
        ValueError: even the least does not fit.
    """
    page = first_that_fits(explainer, options, whatifs, page_of)
    if page is None:
        raise ValueError(f"{options.text[:40]!r} is too long for one file of 5 MB; without --html it is served")
    return page


def first_that_fits(
    explainer: Explainer,
    options: RunOptions,
    whatifs: list[dict[str, Any]],
    write: Callable[[dict[str, Any]], str],
) -> str | None:
    """The run, written with as much detail as there is room for; None if even the least does not fit."""
    document = explainer.page(options) | {"whatifs": whatifs, "served": False}
    for precision, keep in DETAILS:
        document["values"] = explainer.values(document["run"], precision, keep)
        if len((written := write(document)).encode()) < LIMIT:
            return written
    for fewer in lighter(whatifs):
        if len((written := write(document | {"whatifs": fewer})).encode()) < LIMIT:
            return written
    return None
