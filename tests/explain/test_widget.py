"""The page in a notebook, as Python sees it: what is saved, and what messages are answered with."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("anywidget")

from prosector.explain import show
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import LIMIT
from prosector.explain.widget import Page, explainer_of

TEXT = "我爱你"


@pytest.fixture(scope="module")
def page(explainer):
    return Page(explainer, RunOptions(text=TEXT, beam=2))


@pytest.fixture
def heard(page, monkeypatch):
    """What is sent to the page."""
    sent = []
    monkeypatch.setattr(page, "send", sent.append)
    return sent


def test_what_is_saved_is_the_page_as_a_file_holds_it(page, translator):
    state = page.get_state()
    document = json.loads(state["document"])
    assert document["text"] == TEXT
    assert document["output"] == translator.translate(TEXT)
    assert document["served"] is False
    assert len(document["whatifs"]) > 30
    assert len(state["document"].encode()) < LIMIT
    assert "export default" in state["_esm"]


def test_it_says_what_it_is_to_a_notebook(page):
    from ipywidgets import Widget

    data = page._repr_mimebundle_()[0]
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == page.model_id
    assert isinstance(page, Widget)


def test_messages_are_answered_under_their_number(page, heard):
    page._handle_custom_msg({"id": 7, "what": "hello", "given": {}}, [])
    page._handle_custom_msg({"id": 8, "what": "run", "given": {"text": "你爱我", "beam": 1}}, [])
    page._handle_custom_msg({"id": 9, "what": "run", "given": {"text": "  "}}, [])
    page._handle_custom_msg({"id": 10, "what": "open", "given": {"file": "x"}}, [])
    assert [message["id"] for message in heard] == [7, 8, 9, 10]
    assert heard[0]["answer"] == "{}"
    run = json.loads(heard[1]["answer"])
    assert run["text"] == "你爱我"
    assert heard[2] == {"id": 9, "error": "the text is blank: give a sentence"}
    assert "nobody answers 'open'" in heard[3]["error"]
    cell = {"run": run["run"], "address": "encoder.0.norm1", "row": 1, "column": 3}
    page._handle_custom_msg({"id": 11, "what": "value", "given": cell}, [])
    found = json.loads(heard[4]["answer"])
    assert found["lines"][-1]["value"] == pytest.approx(found["recorded"], abs=1e-4)


def test_a_fault_of_ours_does_not_leave_the_page_waiting(page, heard, monkeypatch):
    monkeypatch.setattr(page, "explainer", None)
    page._handle_custom_msg({"id": 1, "what": "run", "given": {"text": "我"}}, [])
    [message] = heard
    assert message["id"] == 1
    assert message["error"].startswith("a fault of Prosector's: AttributeError")


def test_a_model_is_named_or_given(translator):
    assert show("zh-en", TEXT, beam=1, whatifs=False).explainer.name == "zh-en"
    page = show(translator, TEXT, beam=1, whatifs=False)
    assert json.loads(page.document)["whatifs"] == []
    assert page.explainer.ability is translator
    same = Explainer("mine", translator)
    assert explainer_of(same, TEXT) is same


def test_of_a_model_that_sees_no_other_file_can_be_asked_for(tmp_path):
    from PIL import Image

    Image.new("L", (28, 28)).save(tmp_path / "a.png")
    page = show("vit", tmp_path / "a.png")
    assert "one picture" in page.reply("run", {"text": "/etc/passwd"})["error"]


@pytest.mark.parametrize(("text", "beam", "says"), [("", 4, "blank"), ("我", 0, "beam"), ("我" * 300, 1, "tokens")])
def test_mistakes_are_named(translator, text, beam, says):
    with pytest.raises(ValueError, match=says):
        show(translator, text, beam=beam, whatifs=False)


def test_without_anywidget_it_is_said_what_to_install():
    code = "import sys; sys.modules['anywidget'] = None\nfrom prosector.explain import show\nshow('zh-en', '我')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'prosector[jupyter]'" in run.stderr.splitlines()[-1]
