"""`prosector translate`: one line out for each line in."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from prosector.cli import options
from prosector.cli.console import is_terminal, quoted, say
from prosector.cli.lines import chunks, standard_input, whole_file
from prosector.cli.options import Beam, Engine, Parts

if TYPE_CHECKING:
    from prosector.config.decoding import DecodingConfig, DecodingFields
    from prosector.decoding.candidate import Candidate
    from prosector.decoding.texts import TextTranslator

HELP = """Translate text, files and pipes: one line out for each line in, blank ones too, in order.

Every TEXT is a line; - or a pipe is standard input. Without --model, an installed one that reads the text's
script does it: each TEXT its own, a file or a pipe the one that its beginning asks for.

--stream writes words as they are found. --shortlist writes only words that can translate those of the line, by
alignments of the training data: with a beam a sixth faster, and now and then another word.

--scores puts Σ log p / length before each line; --n-best writes several lines for each, its number before them;
a tab between.

The native core translates, in 8-bit integers, if there was a compiler at the installation; else, or with --engine
pytorch, PyTorch does. ctranslate2 and onnx run the folder that prosector export wrote for them.

\b
Examples:
  prosector translate 我喜欢深度学习。 'How are you?'
  echo 人山人海。 | prosector translate
  prosector translate --input book.zh.txt --output book.en.txt --beam 1
  prosector translate --n-best 3 --scores 人山人海。
  prosector translate --model runs/mine --temperature 0.7 --seed 3 你好。
  prosector translate --engine ctranslate2 --model runs/zh-en-int8 --input book.zh.txt
"""

Text = Annotated[list[str] | None, typer.Argument(metavar="TEXT", help="Lines to translate.")]
Model = Annotated[str | None, typer.Option("--model", metavar="NAME|DIR", help="An installed model, or a folder.")]
Input = Annotated[Path | None, typer.Option("--input", metavar="FILE", help="Translate the lines of a file.")]
Output = Annotated[Path | None, typer.Option("--output", metavar="FILE", help="Write here, all or nothing.")]
NBest = Annotated[int, typer.Option(metavar="N", help="The N best translations of each line.")]
Scores = Annotated[bool, typer.Option("--scores", help="Put the score before each translation.")]
Temperature = Annotated[float | None, typer.Option(metavar="T", help="Draw by chance; below 1 sharper, above flatter.")]
TopK = Annotated[int | None, typer.Option(metavar="N", help="Draw among the N likeliest tokens.")]
TopP = Annotated[float | None, typer.Option(metavar="P", help="Draw among the likeliest, of probability P together.")]
Seed = Annotated[int | None, typer.Option(metavar="N", help="Draw with this seed.")]
MaxLength = Annotated[int | None, typer.Option(metavar="N", help="Longest translation of a sentence, in tokens.")]
Alpha = Annotated[float, typer.Option(metavar="A", help="Length penalty: Σ log p / length^A.")]
NoGuard = Annotated[bool, typer.Option("--no-repetition-guard", help="Let it say the same thing on and on.")]
Shortlist = Annotated[bool, typer.Option("--shortlist", help="Only likely words; see prosector shortlist.")]
Stream = Annotated[bool, typer.Option("--stream", help="Write words as soon as they are found.")]
Simplify = Annotated[bool, typer.Option("--simplify", help="Simplified Chinese, in and out (needs OpenCC).")]


def translate(
    text: Text = None,
    model: Model = None,
    input: Input = None,
    output: Output = None,
    beam: Beam = None,
    n_best: NBest = 1,
    scores: Scores = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    max_length: MaxLength = None,
    alpha: Alpha = 1.0,
    no_repetition_guard: NoGuard = False,
    shortlist: Shortlist = False,
    stream: Stream = False,
    simplified: Simplify = False,
    engine: Engine = None,
    parts: Parts = None,
) -> None:
    if engine in ("ctranslate2", "onnx") and model is None:
        raise ValueError(f"--engine {engine} needs --model FOLDER; prosector export --to {engine} writes one")
    if stream and (n_best > 1 or scores or simplified):
        wanted = "--n-best" if n_best > 1 else "--scores" if scores else "--simplify"
        raise ValueError(f"--stream shows the one translation as it is found; leave out {wanted}")
    if shortlist and engine not in (None, "native"):
        raise ValueError(f"--shortlist: only the native core has one; leave out --engine {engine}")
    source, is_stream = source_of(text or [], input)
    with whole_file(output) if output else nullcontext(sys.stdout) as target:
        from prosector.config.decoding import decoding_from
        from prosector.text import simplify

        fields: DecodingFields = {
            "beam": beam,
            "n_best": n_best,
            "temperature": temperature,
            "top_k": top_k,
            "top_p": top_p,
            "seed": seed,
            "max_length": max_length,
            "alpha": alpha,
            "repetition_guard": not no_repetition_guard,
            "shortlist": shortlist,
        }
        decoding = decoding_from(None, fields)
        if simplified:
            simplify("")  # whether it can be done, before there is work to lose
        options.load(parts)
        choose = chooser(model, engine)
        progress = Progress(sys.stderr, quiet=is_terminal(target))
        done = 0
        for lines in source:
            if is_stream and any(map(str.strip, lines)):
                choose, is_stream = always(choose("\n".join(lines))), False
            if stream:
                write_bit_by_bit(lines, choose, decoding, target)
                continue
            for number, best in enumerate(best_of(lines, choose, decoding, simplified), start=done + 1):
                target.writelines(written(best, number if n_best > 1 else None, scores))
            target.flush()
            done += len(lines)
            progress.tell(done)
        progress.end()


def source_of(texts: list[str], file: Path | None) -> tuple[Iterator[list[str]], bool]:
    """The lines to translate in chunks, and whether they come from a file or a pipe.

    Raises:
        ValueError: there is nothing to translate, or two things are.
    """
    if texts and file:
        raise ValueError(f"translate TEXT or --input {file}? leave one out")
    if file and file != Path("-"):
        from prosector.data.corpus import lines

        return chunks(lines(file)), True
    if not texts and not file and sys.stdin.isatty():
        raise ValueError("nothing to translate: give TEXT, or --input FILE, or - to type lines")
    if texts in ([], ["-"]):
        return standard_input(), True
    if "-" in texts:
        raise ValueError("- is standard input, and stands alone; quote a text that has a dash of its own")
    for text in texts:
        if os.path.isfile(text):
            say(f"{text} is translated as a text; for the lines of the file: --input {quoted(text)}")
    return chunks(line for text in texts for line in text.split("\n")), False


def chooser(model: str | None, engine: str | None) -> Callable[[str], TextTranslator]:
    """From a text to the translator for it: the one that was named, or an installed one for its script.

    Unless an engine is named it is run by the native core where that can run it, and by PyTorch elsewhere.
    """
    from prosector.decoding import native
    from prosector.decoding.installed import find_model

    if model is not None:
        engine = engine or ("native" if native.runs_natively(find_model(model)) else "pytorch")
        return always(options.translator_of(model, engine))
    if engine == "native" or (engine is None and native.core()):
        return native.native_for
    from prosector.decoding.translator import translator_for

    return translator_for


def always(translator: TextTranslator) -> Callable[[str], TextTranslator]:
    """The same translator, whatever the text."""
    return lambda text: translator


def best_of(
    lines: Sequence[str], choose: Callable[[str], TextTranslator], decoding: DecodingConfig, simplified: bool
) -> list[list[Candidate]]:
    """The candidates of each line, in order, the lines of one translator together; a blank line asks for none."""
    from prosector.decoding.candidate import Candidate
    from prosector.text import simplify

    found = [[Candidate("", 0.0, True)] for _ in lines]
    places: dict[TextTranslator, list[int]] = {}
    for place, line in enumerate(lines):
        if line.strip():
            places.setdefault(choose(line), []).append(place)
    for translator, its in places.items():
        reads_simplified = simplified and translator.config.source == "zh"
        texts = [simplify(lines[place]) if reads_simplified else lines[place] for place in its]
        for place, best in zip(its, translator.hypotheses(texts, decoding), strict=True):
            writes_simplified = simplified and translator.config.target == "zh"
            found[place] = [one._replace(text=simplify(one.text)) for one in best] if writes_simplified else best
    return found


def write_bit_by_bit(
    lines: Sequence[str], choose: Callable[[str], TextTranslator], decoding: DecodingConfig, target: TextIO
) -> None:
    """The translation of each line, its words as they are found."""
    for line in lines:
        for bit in choose(line).stream(line, decoding) if line.strip() else ():
            target.write(bit)
            target.flush()
        target.write("\n")
    target.flush()


def written(best: Sequence[Candidate], number: int | None, scored: bool) -> Iterator[str]:
    """A line for each candidate: its line's number if there may be several, its score if it is wanted, the text."""
    for candidate in best:
        columns = [str(number)] * (number is not None) + [f"{candidate.score:.4f}"] * scored
        text = " ".join(candidate.text.splitlines())
        yield "\t".join([*columns, text.replace("\t", " ") if columns else text]) + "\n"


class Progress:
    """How far a long translation is, on stderr; nothing for one of under two seconds, nor where its lines are seen."""

    def __init__(self, stream: TextIO, quiet: bool) -> None:
        self.stream, self.quiet = stream, quiet
        self.began = time.monotonic()
        self.next, self.told = self.began + 2, False
        self.redraws = is_terminal(stream)

    def tell(self, done: int) -> None:
        """So many lines are done."""
        now = time.monotonic()
        if self.quiet or now < self.next:
            return
        self.next, self.told = now + (0.2 if self.redraws else 10), True
        text = f"{done:,} line{'s' * (done != 1)} translated, {done / (now - self.began):,.1f} a second"
        self.stream.write(f"\r\x1b[K{text}" if self.redraws else f"{text}\n")
        self.stream.flush()

    def end(self) -> None:
        """Take the line away."""
        if self.redraws and self.told:
            self.stream.write("\r\x1b[K")
