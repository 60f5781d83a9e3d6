"""The page's code runs, and prints what the page says, in both languages."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs"
BLOCKS = re.compile(r"```python\n(.*?)```\n```text\n(.*?)```", re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


def outputs_of(blocks):
    """What each block prints; a later one goes on where the one before ended."""
    names = {}
    for code, _ in blocks:
        with redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "docs/observe.md", "exec"), names)
        yield printed.getvalue()


def alike(found, wanted):
    """The same text, in which a number may differ in its last digit."""
    apart = zip(NUMBER.findall(found), NUMBER.findall(wanted), strict=False)
    close = all(abs(float(a) - float(b)) <= 1.01 * 10 ** -len(b.partition(".")[2]) for a, b in apart)
    return close and NUMBER.sub("#", found) == NUMBER.sub("#", wanted)


def test_the_page_prints_what_it_says():
    blocks = BLOCKS.findall((PAGES / "observe.md").read_text("utf-8"))
    assert len(blocks) >= 4
    for found, (_, wanted) in zip(outputs_of(blocks), blocks, strict=True):
        assert alike(found, wanted), found


def test_both_languages_show_the_same():
    english, chinese = (BLOCKS.findall((PAGES / f"observe{of}.md").read_text("utf-8")) for of in ("", ".zh-CN"))
    assert english == chinese


@pytest.mark.parametrize(("found", "like"), [("a 0.51 b", True), ("a 0.53 b", False), ("c 0.51 b", False)])
def test_only_a_last_digit_may_differ(found, like):
    assert alike(found, "a 0.50 b") == like
