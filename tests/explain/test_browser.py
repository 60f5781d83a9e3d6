"""The page in a real browser that reaches nothing but this machine."""

import pytest
import torch

from prosector.data.batching import pad
from prosector.explain.options import RunOptions
from prosector.explain.page import fitting, write_page
from prosector.observe import observe

TEXT = "我喜欢深度学习。"


@pytest.fixture(scope="module")
def seen(translator, server):
    src = pad([translator.ids(TEXT)])
    tgt = torch.tensor([[token["id"] for token in server.first["sequences"]["target"]]])
    with torch.inference_mode(), observe(translator.model) as seen:
        translator.model(src, tgt)
    return seen


def value_on(page):
    output = page.locator(".inspector .value")
    output.wait_for()
    return float(output.get_attribute("data-value"))


def test_it_opens_with_the_machine_of_this_model(open_page, server):
    page = open_page(server.url)
    assert page.locator(".source").inner_text() == TEXT
    assert page.locator(".target").inner_text() == "I like deep learning."
    assert page.locator(".box.self").count() == 2  # one layer of each stack is open
    page.locator(".box.cross").click()
    page.locator(".part .address", has_text="decoder.0.cross").wait_for()
    assert page.evaluate("location.hash") == "#/machine?at=decoder.0.cross"


@pytest.mark.parametrize(
    ("address", "head", "row", "column"),
    [
        ("encoder.1.attention.scores", 3, 2, 0),
        ("decoder.2.cross.weights", 1, 2, 1),
        ("decoder.0.self.heads", 2, 3, 17),
        ("decoder.1.self.query", 1, 4, 60),
        ("encoder.0.feed_forward.hidden", 0, 1, 900),
        ("decoder.2.norm3", 0, 5, 255),
        ("target_embedding", 0, 2, 3),
    ],
)
def test_a_number_on_the_page_is_pytorchs(open_page, server, seen, address, head, row, column):
    page = open_page(f"{server.url}#/attention?cell={address},{head},{row},{column}")
    value = seen[address][0]
    expected = (value[head] if value.ndim == 3 else value)[row, column].item()
    assert value_on(page) == expected
    last = page.locator(".equation b").last.inner_text()
    assert float(last) == pytest.approx(expected, abs=1e-4)


def test_a_cell_is_read_and_opened_by_mouse(open_page, server, seen):
    page = open_page(f"{server.url}#/attention?at=decoder.2.cross&head=1")
    cells = page.get_by_role("grid", name="softmax, decoder.2.cross.weights")
    box = cells.bounding_box()
    rows, columns = seen["decoder.2.cross.weights"].shape[-2:]
    cells.click(position={"x": box["width"] * 1.5 / columns, "y": box["height"] * 2.5 / rows})
    assert value_on(page) == seen["decoder.2.cross.weights"][0, 1, 2, 1].item()
    assert "like" in page.locator(".inspector .meaning").inner_text()


def test_all_is_reached_by_keyboard(open_page, server, seen):
    page = open_page(server.url)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("nav a", has_text="Attention").focus()
    page.keyboard.press("Enter")
    page.locator(".small").nth(5).focus()
    page.keyboard.press("Enter")
    assert page.locator(".small").nth(5).get_attribute("aria-pressed") == "true"
    page.get_by_role("grid", name="softmax, encoder.1.attention.weights").focus()
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    assert value_on(page) == seen["encoder.1.attention.weights"][0, 1, 1, 2].item()
    page.locator("nav a", has_text="Machine").focus()
    page.keyboard.press("Enter")
    page.locator(".box.feed-forward").first.focus()
    page.keyboard.press("Enter")
    page.locator(".part .address", has_text="encoder.1.feed_forward").wait_for()


def test_two_languages_and_two_themes(open_page, server):
    page = open_page(server.url)
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="中文").click()
    assert page.locator("nav").inner_text().split() == ["整机", "注意力", "写作", "假如", "位置", "导览"]
    assert page.evaluate("document.documentElement.lang") == "zh-CN"
    page.get_by_role("button", name="深色").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != paper
    page.reload()  # both are remembered
    assert page.locator("nav").inner_text().split()[0] == "整机"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert "整机" in open_page(server.url, locale="zh-CN").locator("nav").inner_text()


@pytest.mark.parametrize("view", ["machine", "attention", "writing", "whatif", "positions", "tour"])
@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_nothing_is_wider_than_a_phone(open_page, server, view, language):
    page = open_page(f"{server.url}#/{view}", width=390, locale=language)
    page.wait_for_selector("#content h2")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_steps_and_the_tree(open_page, server):
    page = open_page(f"{server.url}#/writing?step=1")
    p = float(page.locator(".step .candidates .chosen .p").get_attribute("data-p"))
    assert p == server.first["steps"][1]["chosen"]["p"]
    kept = [node for node in server.first["tree"]["nodes"] if node[4] != "passed"]
    assert page.locator(".leaf").count() == len(kept)
    page.get_by_label("Show what was weighed").check()
    assert page.locator(".leaf").count() == len(server.first["tree"]["nodes"])
    page.locator(".leaf.finished").nth(1).click()
    assert "node=" in page.evaluate("location.hash")


def test_what_if(open_page, server, translator):
    page = open_page(f"{server.url}#/whatif")
    page.get_by_label("Sentence").fill("你爱我")
    page.get_by_label("no positions").check()
    page.get_by_role("button", name="Run", exact=True).click()
    after = page.get_by_test_id("output-after")
    after.wait_for()
    assert page.get_by_test_id("output-before").inner_text() == translator.translate("你爱我")
    assert page.locator(".side").count() == 2
    page.get_by_role("button", name="Look inside this run").click()
    page.wait_for_selector(".head")
    assert "你爱我" in page.locator(".sentences").inner_text()


def test_another_word_is_forced(open_page, server):
    page = open_page(f"{server.url}#/whatif")
    page.locator(".side .candidates button", has_text="You").first.click()
    after = page.get_by_test_id("output-after")
    after.wait_for()
    assert after.inner_text().startswith("You")


def test_does_order_matter(open_page, server):
    page = open_page(f"{server.url}#/whatif")
    page.get_by_role("button", name="Try both").click()
    page.wait_for_selector(".order-table")
    assert page.locator(".verdict").all_inner_texts() == ["different", "identical"]


def test_a_mistake_is_told(open_page, server):
    page = open_page(f"{server.url}#/whatif")
    page.evaluate('window.fetch = async () => new Response(\'{"error": "the text is blank"}\', {status: 400})')
    page.get_by_label("Sentence").fill(" ")
    page.get_by_role("button", name="Run", exact=True).click()
    assert page.get_by_role("alert").inner_text() == "the text is blank"


@pytest.mark.parametrize("width", [1440, 390])
def test_the_tour_goes_to_its_end(open_page, server, width):
    page = open_page(f"{server.url}#/tour", width=width)
    page.get_by_role("button", name="Begin").click()
    seen = set()
    for step in range(1, 13):
        assert page.locator(".tour-card .count").inner_text() == f"{step} / 12"
        seen.add(page.evaluate("location.hash"))
        page.locator(".tour-card footer .primary").click()
    assert len(seen) == 12
    assert page.locator(".tour-card").count() == 0
    again = open_page(server.url + sorted(seen)[0])  # each step is a link
    assert again.locator(".tour-card").is_visible()


def test_a_file_works_alone(open_page, explainer, tmp_path):
    (tmp_path / "page.html").write_text(
        write_page(explainer, RunOptions(text="我爱你", beam=2), lambda *_: None), "utf-8"
    )
    page = open_page((tmp_path / "page.html").as_uri())
    for view in ("Attention", "Writing", "Positions", "What if"):
        page.locator("nav a", has_text=view).click()
        page.wait_for_selector("#content h2")
    assert page.locator(".pick option").count() > 30
    page.locator(".pick select").select_option(index=1)
    assert page.get_by_test_id("output-after").is_visible()
    page.goto(page.url.split("#")[0] + "#/machine?cell=encoder.0.norm1,0,1,1")
    assert "leaves out" in page.locator(".inspector .note").inner_text()


def test_html_in_the_text_is_text_on_the_page(open_page, explainer, tmp_path):
    text = "我<b>爱</b></script><img src=x onerror=alert(1)>你"
    (tmp_path / "page.html").write_text(fitting(explainer, RunOptions(text=text, beam=1), []), "utf-8")
    page = open_page((tmp_path / "page.html").as_uri())
    assert page.locator(".source").inner_text() == text
    for view in ("Attention", "Writing", "Tour"):
        page.locator("nav a", has_text=view).click()
        page.wait_for_selector("#content h2")
        assert page.locator("img, #content script, .source b").count() == 0


def test_what_is_drawn_is_reached_by_keyboard_too(open_page, server):
    """In SVG an attribute's case counts: what could not be focused would be lost to those without a mouse."""
    page = open_page(f"{server.url}#/writing")
    for view, part in (("machine", ".box"), ("writing", ".leaf"), ("attention", ".looks .end")):
        page.goto(f"{server.url}#/{view}")
        page.wait_for_selector(part)
        drawn = page.locator(part)
        drawn.nth(1).focus()
        assert page.evaluate("document.activeElement.getAttribute('class')").startswith(part.split(".")[-1])
