"""`prosector explain`: every number of a run, on a page in the browser, in one file, or as a figure of a paper."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prosector.cli import options
from prosector.cli.console import Doing, say
from prosector.cli.options import Parts

if TYPE_CHECKING:
    from prosector.config.folder import Folder
    from prosector.explain.explainer import Explainer
    from prosector.explain.options import RunOptions
    from prosector.explain.server import PageServer

HELP = """Show what a model does with a sentence, number by number, on a page in the browser.

The page is served to this machine alone, until Ctrl-C; its address goes to stdout. --html writes it as one file
instead, which works without a network and can be sent to others. --figure draws one part of it for a paper: an
attention's heads, an alignment, the candidates, or the beam.

Without --model, an installed translator that reads the text's script. A model that writes takes a beginning, one that
fills gaps a text with [MASK], one that sees a picture's file.

\b
Examples:
  prosector explain 我喜欢深度学习。
  prosector explain 'I like deep learning.' --html page.html
  prosector explain --model runs/mine --beam 8 我爱你。
  prosector explain --model bert '我[MASK]深度学习。'
  prosector explain --model vit seven.png
  prosector explain 我喜欢深度学习。 --figure heads.pdf --at decoder.2.cross
  prosector explain 我喜欢深度学习。 --figure beam.svg --at beam --width 6.75
  prosector explain --no-browser --port 8000 人山人海。
"""

TEXTS = {"zh": "我喜欢深度学习。", "en": "I like deep learning."}

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="A sentence, or a picture's file.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Html = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write the page here instead of serving it.")]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", metavar="FILE", help="Draw a part of the run, as .pdf, .svg or .png.")
]
At = Annotated[
    str | None,
    typer.Option(
        metavar="PART",
        help="What --figure draws: an attention (decoder.2.cross), alignment, candidates, beam. "
        "[default: the last attention]",
    ),
]
Head = Annotated[int | None, typer.Option(metavar="N", help="One head of it, from 1; all by default.")]
Width = Annotated[float | None, typer.Option(metavar="INCHES", help="How wide it is. [default: 3.3, or 6.75]")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Serve it at this port; 0 is any that is free.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only say where it is.")]
Beam = Annotated[int, typer.Option(metavar="N", min=1, max=16, help="Hypotheses followed at once; 1 is greedy.")]


def explain(
    text: Text = None,
    model: Model = None,
    html: Html = None,
    figure: FigureFile = None,
    at: At = None,
    head: Head = None,
    width: Width = None,
    port: Port = 0,
    no_browser: NoBrowser = False,
    beam: Beam = 4,
    parts: Parts = None,
) -> None:
    check_files(html, figure, width)
    if figure is None and (at, head, width) != (None, None, None):
        raise ValueError("--at, --head and --width say how --figure FILE is drawn; give that too")
    with Doing(sys.stderr) as doing:
        doing.tell("loading the model")
        options.load(parts)
        import torch

        from prosector.explain.options import RunOptions

        # One sentence's tensors are tiny: several threads gain nothing, and wait for each other where cores are busy.
        torch.set_num_threads(1)
        explainer = explainer_for(model, text)
        known = RunOptions(text=text_for(explainer.ability.config) if text is None else text, beam=beam)
        note_gaps(explainer, known.text, doing)
        doing.tell(f"running {explainer.name}")
        if figure is not None:
            from prosector.explain.figure import draw, save

            document = explainer.run(known)
            doing.tell("drawing")
            drawn = draw(document, at, head, width)
            save(drawn, figure)
        elif html is not None:
            size = write(explainer, known, html, doing)
        else:
            server = server_of(explainer, known, port)
    if figure is not None:
        say(f"{figure}: {drawn.get_figwidth():.2f} × {drawn.get_figheight():.2f} inches")
    elif html is not None:
        say(f"{html}: {size / 1e6:.1f} MB")
    else:
        serve(server, browser=not no_browser)


def note_gaps(explainer: Explainer, text: str, doing: Doing) -> None:
    """Say so if a model that fills gaps has none to fill."""
    from prosector.decoding.reader import MASK, Reader

    if isinstance(explainer.ability, Reader) and MASK not in text:
        doing.note(f"no {MASK} in the text: the page shows how it is read, and there is no word to guess")


def check_files(html: Path | None, figure: Path | None, width: float | None) -> None:
    """Raises ValueError if what shall be written has a name of another kind, no folder, or an impossible width."""
    if html is not None and figure is not None:
        raise ValueError(f"--html {html} or --figure {figure}? leave one out")
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--html {html}: a page is written as .html")
    if figure is not None:
        from prosector.explain.figure import check_name, check_width

        check_name(figure)
        check_width(width)
    for option, file in (("--html", html), ("--figure", figure)):
        if file is not None and not file.resolve().parent.is_dir():
            raise ValueError(f"{option} {file}: there is no folder {file.parent}")


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


def write(explainer: Explainer, known: RunOptions, path: Path, doing: Doing) -> int:
    """Write the page, whole or not at all; how many bytes it has."""
    from prosector.explain.page import write_page
    from prosector.models.weights import replace_file

    page = write_page(explainer, known, lambda done, total: doing.count("running it without one part", done, total))
    replace_file(path, lambda temporary: Path(temporary).write_text(page, "utf-8"))
    return len(page.encode())


def server_of(explainer: Explainer, known: RunOptions, port: int) -> PageServer:
    """A server of the page, which has been run."""
    from prosector.explain.page import bundle
    from prosector.explain.server import PageServer

    bundle("explain.js")
    try:
        return PageServer(explainer, known, port)
    except OSError as error:
        raise ValueError(f"--port {port}: {error.strerror}; choose another, or leave it out") from error


def serve(server: PageServer, browser: bool) -> None:
    """Serve the page until Ctrl-C."""
    with server:
        print(server.url, flush=True)
        say("Ctrl-C ends it")
        if browser:
            webbrowser.open(server.url)
        server.serve_forever()
