"""The page as a widget in a real browser: a notebook of a few lines, with styles and a model object of its own."""

import json

import pytest
import torch

pytest.importorskip("anywidget")

from prosector.data.batching import pad
from prosector.explain.options import RunOptions
from prosector.explain.widget import Page
from prosector.observe import observe

TEXT = "我喜欢深度学习。"

NOTEBOOK = """<!doctype html>
<html lang="de"><head><meta charset="utf-8"><link rel="icon" href="data:,"><style>
* { color: rgb(255, 0, 0); font-size: 31px; letter-spacing: 4px; }
button { border: 9px solid lime; }
nav { display: none; }
.cell { overflow: auto; transform: translateY(40px); }
</style></head><body BODY>
<h2 class="head">My notebook</h2><nav class="top"></nav><a href="#" id="content">mine</a>
<div class="cell"></div><div class="cell"></div>
<script type="module">
const state = STATE;
window.modelOf = (number) => {
  const heard = {};
  return {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => {},
    on: (event, hear) => (heard[event] ??= []).push(hear),
    off: (event, hear) => { heard[event] = heard[event].filter((each) => each !== hear); },
    send: async (message) => {
      if (!window.python) return;
      const reply = await window.python(number, message);
      for (const hear of heard["msg:custom"] ?? []) hear(reply);
    },
    heard,
  };
};
const esm = await import(URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" })));
window.models = [];
window.ends = [...document.querySelectorAll(".cell")].slice(0, CELLS).map((el, number) => {
  window.models.push(window.modelOf(number));
  return esm.default.render({ model: window.models[number], el });
});
</script></body></html>"""


@pytest.fixture(scope="module")
def widget(explainer):
    return Page(explainer, RunOptions(text=TEXT))


@pytest.fixture
def open_notebook(open_page, widget, tmp_path):
    """A notebook that shows the page in so many cells; `python` answers its messages, or nobody does."""

    def open_(python=None, cells=1, body=""):
        state = {name: widget.get_state()[name] for name in ("document", "_esm")}
        data = json.dumps(state).replace("<", "\\u003c")
        html = NOTEBOOK.replace("BODY", body).replace("CELLS", str(cells)).replace("STATE", data)
        (tmp_path / "notebook.html").write_text(html, "utf-8")

        def prepare(page):
            if python:
                page.expose_function("python", python)

        return open_page((tmp_path / "notebook.html").as_uri(), prepare=prepare)

    return open_


@pytest.fixture
def answers(widget):
    """Python at the other end: what was asked is kept."""
    asked = []

    def python(number, message):
        asked.append((number, message["what"]))
        return {"id": message["id"]} | widget.reply(message["what"], message["given"])

    python.asked = asked
    return python


def view(page, name):
    page.locator("nav a", has_text=name).click()
    page.wait_for_selector("#content h2")


def test_a_saved_notebook_shows_the_page_without_python(open_notebook):
    page = open_notebook()
    assert page.locator(".source").inner_text() == TEXT
    for name in ("Attention", "Writing", "Positions", "Tour"):
        view(page, name)
    view(page, "What if")
    assert page.locator(".pick option").count() > 30
    page.locator(".pick select").select_option(index=1)
    assert page.get_by_test_id("output-after").is_visible()


def test_while_python_runs_what_ifs_are_computed(open_notebook, answers, translator):
    page = open_notebook(answers)
    view(page, "What if")
    page.get_by_label("Sentence").fill("你爱我")
    page.get_by_label("no positions").check()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_test_id("output-after").wait_for()
    assert page.get_by_test_id("output-before").inner_text() == translator.translate("你爱我")
    assert answers.asked == [(0, "hello"), (0, "run"), (0, "run")]
    page.get_by_label("Sentence").fill(" ")
    page.get_by_role("button", name="Run", exact=True).click()
    assert page.get_by_role("alert").inner_text() == "the text is blank: give a sentence"


def test_the_arithmetic_of_what_takes_the_weights_is_asked_for(open_notebook, answers, widget, translator):
    page = open_notebook(answers)
    view(page, "Attention")
    grid = page.get_by_role("grid", name="decoder.2.cross.query")
    grid.focus()
    for key in ("ArrowDown", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    output = page.locator(".inspector .value")
    output.wait_for()
    tgt = torch.tensor([[token["id"] for token in json.loads(widget.document)["sequences"]["target"]]])
    with torch.inference_mode(), observe(translator.model) as seen:
        translator.model(pad([translator.ids(TEXT)]), tgt)
    assert float(output.get_attribute("data-value")) == seen["decoder.2.cross.query"][0, 0, 1, 1].item()
    assert answers.asked[-1] == (0, "value")


def test_neither_style_reaches_the_other(open_notebook):
    page = open_notebook()
    css = "(element, name) => getComputedStyle(element)[name]"
    source, button = page.locator(".source"), page.locator(".settings button").first
    assert source.evaluate(css, "color") == "rgb(30, 42, 53)"
    assert source.evaluate(css, "letterSpacing") == "normal"
    assert source.evaluate(css, "fontSize") == "24.8px"
    assert button.evaluate(css, "borderTopWidth") == "1px"
    assert page.locator("nav a").first.is_visible()
    mine = page.locator("body > h2.head")
    assert mine.evaluate(css, "color") == "rgb(255, 0, 0)"
    assert mine.evaluate(css, "fontSize") == "31px"
    assert page.locator("body > nav.top").evaluate(css, "display") == "none"
    assert page.locator("body").evaluate(css, "backgroundColor") == "rgba(0, 0, 0, 0)"


def test_the_notebooks_window_stays_its_own(open_notebook):
    page = open_notebook()
    view(page, "Attention")
    page.get_by_role("button", name="中文").click()
    page.get_by_role("button", name="深色").click()
    assert page.locator(".prosector-page").get_attribute("lang") == "zh-CN"
    assert page.locator(".prosector-page").get_attribute("data-theme") == "dark"
    assert page.evaluate("[location.hash, document.documentElement.lang, history.length]") == ["", "de", 2]
    assert page.evaluate("document.documentElement.dataset.theme ?? null") is None
    assert page.locator(".source").evaluate("element => getComputedStyle(element).color") != "rgb(30, 42, 53)"


@pytest.mark.parametrize(
    ("body", "theme"),
    [
        ('data-jp-theme-light="false"', "dark"),
        ('data-jp-theme-light="true"', "light"),
        ('data-vscode-theme-kind="vscode-dark"', "dark"),
        ("", "light"),
    ],
)
def test_it_is_dark_where_the_notebook_is(open_notebook, body, theme):
    page = open_notebook(body=body)
    assert page.locator(".prosector-page").get_attribute("data-theme") == theme


def test_the_tour_goes_to_its_end_and_offers_no_link(open_notebook):
    page = open_notebook()
    view(page, "Tour")
    page.get_by_role("button", name="Begin").click()
    for step in range(1, 13):
        assert page.locator(".tour-card .count").inner_text() == f"{step} / 12"
        assert page.get_by_role("button", name="Copy").count() == 0
        frame = page.locator(".in-shadow").bounding_box()
        for part in (".tour-card", ".inspector"):  # where there is one, it stays in sight
            for box in (each.bounding_box() for each in page.locator(part).all()):
                assert frame["y"] <= box["y"] < box["y"] + box["height"] <= frame["y"] + frame["height"]
        page.locator(".tour-card footer .primary").click()
    assert page.locator(".tour-card").count() == 0


def test_two_cells_are_two_pages(open_notebook, answers):
    page = open_notebook(answers, cells=2)
    first, second = page.locator(".prosector-page").nth(0), page.locator(".prosector-page").nth(1)
    first.locator("nav a", has_text="What if").click()
    first.get_by_label("Sentence").wait_for()
    second.locator("nav a", has_text="Writing").click()
    second.get_by_role("button", name="中文").click()
    assert first.get_by_label("Sentence").is_visible()
    assert first.get_attribute("lang") == "en"
    assert second.get_attribute("lang") == "zh-CN"
    first.get_by_role("button", name="Run", exact=True).click()
    first.get_by_test_id("output-after").wait_for()
    assert {number for number, what in answers.asked if what == "run"} == {0}


def test_a_cell_that_is_cleared_leaves_nothing(open_notebook, answers):
    page = open_notebook(answers)
    page.evaluate("window.ends[0]()")
    assert page.locator(".prosector-page").count() == 0
    assert page.evaluate("Object.values(window.models[0].heard).flat().length") == 0
