"""`prosector explain`: every number of a run, on a page in the browser or in one file."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prosector.cli import options
from prosector.cli.console import is_terminal, say
from prosector.cli.options import Parts

if TYPE_CHECKING:
    from prosector.config.folder import Folder
    from prosector.explain.explainer import Explainer
    from prosector.explain.options import RunOptions

HELP = """Show what a model does with a sentence, number by number, on a page in the browser.

The page is served to this machine alone, until Ctrl-C; its address goes to stdout. --html writes it as one file
instead, which works without a network and can be sent to others.

Without --model, an installed translator that reads the text's script. A model that writes takes a beginning, one that
fills gaps a text with [MASK], one that sees a picture's file.

\b
Examples:
  prosector explain 我喜欢深度学习。
  prosector explain 'I like deep learning.' --html page.html
  prosector explain --model runs/mine --beam 8 我爱你。
  prosector explain --model bert '我[MASK]深度学习。'
  prosector explain --model vit seven.png
  prosector explain --no-browser --port 8000 人山人海。
"""

TEXTS = {"zh": "我喜欢深度学习。", "en": "I like deep learning."}

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="A sentence, or a picture's file.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the page here instead of serving it.")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Serve it at this port; 0 is any that is free.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only say where it is.")]
Beam = Annotated[int, typer.Option(metavar="N", min=1, max=16, help="Hypotheses followed at once; 1 is greedy.")]


def explain(
    text: Text = None,
    model: Model = None,
    html: Html = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
    beam: Beam = 4,
    parts: Parts = None,
) -> None:
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--html {html}: a page is written as .html")
    if html is not None and not html.resolve().parent.is_dir():
        raise ValueError(f"--html {html}: there is no folder {html.parent}")
    options.load(parts)
    import torch

    from prosector.explain.options import RunOptions

    # One sentence's tensors are tiny: several threads gain nothing, and wait for each other where cores are busy.
    torch.set_num_threads(1)
    explainer = explainer_for(model, text)
    known = RunOptions(text=text_for(explainer.ability.config) if text is None else text, beam=beam)
    if html is not None:
        write(explainer, known, html)
    else:
        serve(explainer, known, port, browser=not no_browser)


def explainer_for(model: str | None, text: str | None) -> Explainer:
    """The model that was named, or an installed translator for the text's script."""
    from prosector.config.folder import PictureFolder, SegmentingFolder
    from prosector.decoding import translator_for
    from prosector.decoding.any_model import load_any
    from prosector.explain.explainer import Explainer

    if model is not None:
        ability = load_any(model)
        sees = isinstance(ability.config, PictureFolder | SegmentingFolder)
        return Explainer(Path(model).name, ability, only=(text or "") if sees else None)
    translator = translator_for(text or TEXTS["zh"])
    return Explainer(f"{translator.config.source}-{translator.config.target}", translator)


def text_for(config: Folder) -> str:
    """A sentence for a model, where none is given.

    Raises:
        ValueError: it takes a picture, of which there is none to begin with.
    """
    from prosector.config.folder import ReaderFolder, TranslatorFolder, WriterFolder

    if isinstance(config, TranslatorFolder):
        return TEXTS[config.source]
    if isinstance(config, WriterFolder):
        return "I like"
    if isinstance(config, ReaderFolder):
        return "I [MASK] deep learning."
    raise ValueError(f"a model of the kind {config.kind} sees pictures: give the file of one")


def write(explainer: Explainer, known: RunOptions, path: Path) -> None:
    """Write the page, whole or not at all."""
    from prosector.explain.page import write_page
    from prosector.models.weights import replace_file

    redraws = is_terminal(sys.stderr)

    def tell(done: int, total: int) -> None:
        if redraws:
            end = "\r\x1b[K" if done == total else ""
            sys.stderr.write(f"\r\x1b[Ktaking parts away, {done} of {total}{end}")
            sys.stderr.flush()

    page = write_page(explainer, known, tell)
    replace_file(path, lambda temporary: Path(temporary).write_text(page, "utf-8"))
    say(f"{path}: {len(page.encode()) / 1e6:.1f} MB")


def serve(explainer: Explainer, known: RunOptions, port: int, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    from prosector.explain.page import bundle
    from prosector.explain.server import PageServer

    bundle("explain.js")
    try:
        server = PageServer(explainer, known, port)
    except OSError as error:
        raise ValueError(f"--port {port}: {error.strerror}; choose another, or leave it out") from error
    with server:
        print(server.url, flush=True)
        say("Ctrl-C ends it")
        if browser:
            webbrowser.open(server.url)
        server.serve_forever()
