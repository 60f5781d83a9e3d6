"""`prosector conformance`: its pages are what it prints now, and what differs is seen."""

from pathlib import Path

import pytest
import torch

from prosector import nn
from prosector.interop import conformance
from prosector.interop.conformance.report import Comparison, Difference, Finding, Section, Text, bounded, page
from prosector.interop.hugging_face import ARCHITECTURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def sections():
    """Every reference compared, once for all tests here."""
    return {name: compare() for name, compare in conformance.SECTIONS.items()}


@pytest.fixture
def section(sections):
    """torch.nn compared."""
    return sections["torch.nn"]


@pytest.fixture
def once(sections, monkeypatch):
    """The command finds them computed."""
    for name, section in sections.items():
        monkeypatch.setitem(conformance.SECTIONS, name, lambda section=section: section)


@pytest.mark.parametrize(("language", "name"), [("en", "conformance.md"), ("zh-CN", "conformance.zh-CN.md")])
def test_the_page_is_what_the_command_prints(prosector, sections, once, language, name):
    written = (DOCS / name).read_text("utf-8")
    for section in sections.values():
        if f"{section.name} {section.version}\n" not in written:
            pytest.skip(f"the page was made with another version of {section.name}")
    result = prosector("conformance", "--markdown", "--language", language)
    assert result.out == written, f"make it again: prosector conformance --markdown --language {language} > docs/{name}"
    assert (result.code, result.err) == (0, "")


def test_every_case_is_within_its_bound(section):
    assert {row.module for row in section.comparisons} == set(nn.__all__)
    assert [row for row in section.comparisons if not row.equal] == []


def test_every_architecture_that_is_read_is_compared(sections):
    found = sections["transformers"].comparisons
    assert {row.module for row in found} == {architecture.classes[0] for architecture in ARCHITECTURES.values()}
    assert [row for row in found if not row.equal] == []


def test_ours_is_right_wherever_it_is_asked(section):
    assert [finding.question.en for finding in section.findings if not finding.ours_right] == []


def test_for_people_it_prints_the_differences_themselves(prosector, once):
    result = prosector("conformance", "torch.nn")
    assert result.code == 0
    assert f"torch.nn {torch.__version__.split('+')[0]}" in result.out
    assert "TransformerDecoderLayer\n  post-norm, memory of another length, causal" in result.out
    assert "≤" not in result.out
    assert "    prosector   ✓ " in result.out
    assert "    prosector   ✗ " not in result.out


def test_an_unknown_reference_is_a_mistake(prosector):
    result = prosector("conformance", "tensorflow")
    assert (result.code, result.out) == (2, "")
    assert "tensorflow is not a reference that is compared; there are torch.nn, transformers" in result.err


WRONG = Comparison("Layer", Text("case", "情形"), {"float32": Difference(3e-3, None), "float64": Difference(0.0, 2e-9)})
FINDING = Finding(Text("what?", "什么？"), Text("this", "这个"), True, Text("that", "那个"), False)


@pytest.mark.parametrize("section", [Section("a", "1", [WRONG]), Section("a", "1", [], [FINDING])])
def test_whatever_differs_ends_with_1(prosector, monkeypatch, section):
    assert not section.well
    if section.comparisons:
        monkeypatch.setitem(conformance.SECTIONS, "a", lambda: section)
        assert prosector("conformance", "a").code == 1
        assert "3.0e-03 ✗" in prosector("conformance", "a").out


def test_a_difference_beyond_its_bound_stands_there_as_a_number():
    assert bounded(9e-6, "float32") == "≤ 1e-5"
    assert bounded(9e-6, "float64") == "**9.0e-06**"
    assert bounded(None, "float32") == "–"
    text = page([Section("a", "1", [WRONG], [FINDING])], "en")
    assert "| `Layer` | case | **3.0e-03** | – | ≤ 1e-10 | **2.0e-09** |" in text
    assert "| what? | ✓ this | ✗ that |" in text
