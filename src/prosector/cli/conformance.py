"""`prosector conformance`: is ours equal to the references, and where are they wrong?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from prosector.interop.conformance import Section
    from prosector.interop.conformance.report import Language

HELP = """Compare this house's modules with reference implementations: the same weights, the same numbers?

For each case it prints the largest difference of outputs and gradients, in float32 and float64; then what the reference
gets wrong, found by running both. Exits with 1 if ours differs anywhere.

\b
Examples:
  prosector conformance
  prosector conformance torch.nn
  prosector conformance transformers
  prosector conformance --markdown > docs/conformance.md
  prosector conformance --markdown --language zh-CN > docs/conformance.zh-CN.md
"""

References = Annotated[
    list[str] | None, typer.Argument(metavar="REFERENCE", help="What to compare with; all if none is named.")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print the page docs/conformance.md, with bounds.")]
InLanguage = Annotated[Literal["en", "zh-CN"], typer.Option("--language", help="The language of what is printed.")]


def conformance(references: References = None, markdown: Markdown = False, language: InLanguage = "en") -> None:
    from prosector.interop.conformance import SECTIONS, page

    unknown = [name for name in references or () if name not in SECTIONS]
    if unknown:
        raise ValueError(f"{unknown[0]} is not a reference that is compared; there are {', '.join(SECTIONS)}")
    sections = [SECTIONS[name]() for name in references or SECTIONS]
    if markdown:
        print(page(sections, language), end="")
    else:
        print("\n".join(line for section in sections for line in readable(section, language)))
    if not all(section.well for section in sections):
        raise typer.Exit(1)


def readable(section: Section, language: Language) -> Iterator[str]:
    """A section for the terminal, with the differences themselves."""
    from prosector.interop.conformance.report import BOUNDS, FORWARD, GRADIENT, WRONG, mark

    width = max(cells(row.case.in_(language)) for row in section.comparisons) + 4
    heads = [f"{dtype} {what.in_(language)}" for dtype in BOUNDS for what in (FORWARD, GRADIENT)]
    yield f"{section.name} {section.version}"
    yield "  ".join([" " * width, *heads]).rstrip()
    module = ""
    for row in section.comparisons:
        if row.module != module:
            yield row.module
        module = row.module
        values = [number(value, dtype) for dtype in BOUNDS for value in row.in_type(dtype)]
        columns = [padded(value, cells(head)) for value, head in zip(values, heads, strict=True)]
        yield "  ".join([padded(f"  {row.case.in_(language)}", width), *columns]).rstrip()
    if section.findings:
        yield ""
        yield WRONG.in_(language)
    for finding in section.findings:
        yield f"  {finding.question.in_(language)}"
        yield f"    {section.name:<12}{mark(finding.reference_right)} {finding.reference.in_(language)}"
        yield f"    {'prosector':<12}{mark(finding.ours_right)} {finding.ours.in_(language)}"


def number(value: float | None, dtype: str) -> str:
    """A difference, marked if it is beyond the bound of its type."""
    from prosector.interop.conformance.report import BOUNDS

    if value is None:
        return "–"
    return f"{value:.1e}" + ("" if value <= BOUNDS[dtype] else " ✗")


def cells(text: str) -> int:
    """How many columns of a terminal a text takes; a Chinese character takes two."""
    from rich.cells import cell_len

    return cell_len(text)


def padded(text: str, width: int) -> str:
    """With spaces after it, as wide as that."""
    return text + " " * (width - cells(text))
