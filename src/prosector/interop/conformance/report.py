"""What a comparison with a reference finds, and the page that says it; in English and in Chinese.

A difference is written as a bound (≤ 1e-5), so that the page is the same on every machine, unless it is beyond
its bound: then the number stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Language = Literal["en", "zh-CN"]
BOUNDS = {"float32": 1e-5, "float64": 1e-10}


class Text(NamedTuple):
    """The same in two languages."""

    en: str
    zh: str

    def in_(self, language: Language) -> str:
        """What it says in one of them."""
        return self.en if language == "en" else self.zh


class Difference(NamedTuple):
    """The largest differences in one type: of outputs, and of gradients; None where they are not compared."""

    forward: float | None
    gradient: float | None


@dataclass(frozen=True)
class Comparison:
    """One case: a module called with the same weights and inputs, theirs and ours."""

    module: str
    case: Text
    differences: dict[str, Difference]  # by type; one that is missing is not compared

    def in_type(self, dtype: str) -> Difference:
        """The differences in one type."""
        return self.differences.get(dtype, Difference(None, None))

    @property
    def equal(self) -> bool:
        """Whether every difference is within the bound of its type."""
        return all(
            value is None or value <= BOUNDS[dtype] for dtype, pair in self.differences.items() for value in pair
        )


@dataclass(frozen=True)
class Finding:
    """One question on which the reference may be wrong: what it does, and what ours does."""

    question: Text
    reference: Text
    reference_right: bool
    ours: Text
    ours_right: bool


@dataclass(frozen=True)
class Section:
    """All about one reference."""

    name: str
    version: str
    comparisons: Sequence[Comparison]
    findings: Sequence[Finding] = field(default=())

    @property
    def well(self) -> bool:
        """Whether ours equals the reference wherever it is compared, and is right wherever a question is asked."""
        return all(row.equal for row in self.comparisons) and all(row.ours_right for row in self.findings)


TITLE = Text("Equal to the references", "与参考实现一致")
OTHER = Text("[中文](conformance.zh-CN.md)", "[English](conformance.md)")
INTRO = Text(
    """This page is what `prosector conformance --markdown` prints. Nothing in it is written by hand, and a test makes
it again and compares. Each row calls a reference and ours with the same weights and inputs, all random. What stands
there is a bound on the largest difference of any number, relative to the largest number of its tensor where that is
above 1. Without `--markdown` the command prints the differences themselves.""",
    """本页是 `prosector conformance --markdown --language zh-CN` 打印出来的。没有一处是手写的；
有一个测试会重新生成本页并比较。每一行都用相同的权重和输入（都是随机的）调用参考实现和我们的实现。
表中是所有数值的最大差的上界；如果张量中最大的数大于 1，差值再除以这个数。不加 `--markdown` 时，命令打印差值本身。""",
)
COLUMNS = (Text("module", "模块"), Text("case", "情形"))
FORWARD, GRADIENT = Text("forward", "前向"), Text("gradients", "梯度")
WRONG = Text("Where references go wrong", "参考实现会出错的地方")
WRONG_INTRO = Text(
    "Each row asks both the same question; ✓ is as it should be. Seen in version {version}.",
    "每一行向两者问同一个问题；✓ 表示结果正确。所见版本：{version}。",
)
QUESTION, OURS = Text("question", "问题"), Text("ours", "我们")


def page(sections: Sequence[Section], language: Language) -> str:
    """The whole page in Markdown."""
    lines = [f"# {TITLE.in_(language)}", "", OTHER.in_(language), "", INTRO.in_(language), ""]
    for section in sections:
        lines += [f"## {section.name} {section.version}", "", *comparison_table(section, language), ""]
        if section.findings:
            lines += [f"### {WRONG.in_(language)}", "", WRONG_INTRO.in_(language).format(version=section.version), ""]
            lines += [*finding_table(section, language), ""]
    return "\n".join(lines)


def comparison_table(section: Section, language: Language) -> Iterator[str]:
    """A row a case, two columns a type."""
    head = [column.in_(language) for column in COLUMNS]
    head += [f"{dtype} {what.in_(language)}" for dtype in BOUNDS for what in (FORWARD, GRADIENT)]
    yield row(head)
    yield row(["---"] * len(head))
    for each in section.comparisons:
        bounds = [bounded(value, dtype) for dtype in BOUNDS for value in each.in_type(dtype)]
        yield row([f"`{each.module}`", each.case.in_(language), *bounds])


def finding_table(section: Section, language: Language) -> Iterator[str]:
    """A row a question."""
    yield row([QUESTION.in_(language), section.name, OURS.in_(language)])
    yield row(["---"] * 3)
    for each in section.findings:
        theirs = f"{mark(each.reference_right)} {each.reference.in_(language)}"
        yield row([each.question.in_(language), theirs, f"{mark(each.ours_right)} {each.ours.in_(language)}"])


def row(cells: Sequence[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def bounded(value: float | None, dtype: str) -> str:
    """A difference as its type's bound; the number itself if it is beyond."""
    if value is None:
        return "–"
    return f"≤ {short(BOUNDS[dtype])}" if value <= BOUNDS[dtype] else f"**{value:.1e}**"


def short(bound: float) -> str:
    """1e-05 as 1e-5."""
    mantissa, exponent = f"{bound:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def mark(right: bool) -> str:
    """✓ or ✗."""
    return "✓" if right else "✗"
