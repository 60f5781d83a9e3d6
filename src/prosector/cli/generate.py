"""`prosector generate`: a text that goes on, word by word, as it is written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from prosector.cli import options
from prosector.cli.options import Parts

if TYPE_CHECKING:
    from prosector.decoding.writer import TextWriter

HELP = """Write: go on with a beginning, or begin; what is written appears as it is written.

TEXT is the beginning; none lets the model begin, - or a pipe is standard input. It stops at the end of the line, or
after --lines lines, or after --max-length tokens. A beginning and a seed give the same again.

\b
Examples:
  prosector generate --model runs/gpt 床前
  prosector generate --model runs/gpt 'I think that' --temperature 0.7 --lines 3
  prosector generate --model runs/gpt --top-k 20 --seed 4
"""

Text = Annotated[str | None, typer.Argument(metavar="TEXT", help="The beginning.")]
Model = Annotated[str, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Lines = Annotated[int, typer.Option("--lines", metavar="N", min=1, help="Stop after so many lines.")]
MaxLength = Annotated[int, typer.Option(metavar="N", min=1, max=100_000, help="Stop after so many tokens.")]
Temperature = Annotated[float, typer.Option(metavar="T", min=0, max=100, help="0 the likeliest; below 1 sharper.")]
TopK = Annotated[int | None, typer.Option(metavar="N", min=1, help="Draw among the N likeliest tokens.")]
TopP = Annotated[float | None, typer.Option(metavar="P", help="Draw among the likeliest, of probability P together.")]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Draw with this seed.")]


class Options(TypedDict):
    """Those of `TextWriter.stream`."""

    max_tokens: int
    n_lines: int
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int


def generate(
    model: Model,
    text: Text = None,
    lines: Lines = 1,
    max_length: MaxLength = 200,
    temperature: Temperature = 0.8,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = 0,
    parts: Parts = None,
) -> None:
    from prosector.decoding.installed import find_model
    from prosector.decoding.writer import TextWriter

    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"--top-p {top_p:g}: a probability above 0, and at most 1")
    piped = text == "-" or (text is None and not sys.stdin.isatty())
    beginning = sys.stdin.read().rstrip("\n") if piped else text or ""
    options.load(parts)
    chosen = Options(max_tokens=max_length, n_lines=lines, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed)
    show(TextWriter.load(find_model(model)), beginning, chosen)


def show(writer: TextWriter, beginning: str, chosen: Options) -> None:
    """The beginning, and what follows, each bit as soon as it is there."""
    print(beginning, end="", flush=True)
    last = ""
    for bit in writer.stream(beginning, **chosen):
        print(bit, end="", flush=True)
        last = bit or last
    if not last.endswith("\n"):
        print()
