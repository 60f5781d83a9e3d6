"""What a view shows, saved: one SVG that needs nothing else, and a PNG of it, twice as fine."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from PIL import Image

from prosector.explain.options import RunOptions
from prosector.explain.page import write_page

SVG = "{http://www.w3.org/2000/svg}"
PAPER = {"light": "rgb(251, 250, 247)", "dark": "rgb(21, 25, 29)"}

# What each view says, and of how many tables or shapes it is made at least.
SHOWN = {
    "machine?at=encoder.0.attention": (["Self-attention", "我喜欢 深度学习 。 <eos>", "sinusoidal"], 1),
    "attention?at=decoder.2.cross&cell=decoder.2.cross.scores,0,1,1": (["深度学习", "learning", "Score"], 40),
    "writing": (["learning", "Beam search as a tree", "深度学习"], 0),
    "whatif": (["no causal mask", "我喜欢深度学习。", "learning"], 1),
    "positions": (["Sinusoidal", "RoPE", "similarity at a distance"], 8),
    "tour": (["Words become pieces", "12."], 0),
}


def saved(page, kind, folder):
    with page.expect_download() as download:
        page.get_by_role("button", name=kind).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def texts(root):
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


@pytest.mark.parametrize("view", SHOWN)
def test_every_view_is_one_svg_that_needs_nothing_else(open_page, server, tmp_path, view):
    page = open_page(f"{server.url}#/{view}")
    page.wait_for_selector("#content h2")
    path = saved(page, "SVG", tmp_path)
    assert path.name == f"prosector-{view.partition('?')[0]}.svg"
    root = ElementTree.parse(path).getroot()
    words, n_images = SHOWN[view]
    found = texts(root)
    for word in words:
        assert any(word in each for each in found), word
    assert "Save picture" not in found
    images = list(root.iter(f"{SVG}image"))
    assert len(images) >= n_images
    for each in root.iter():
        assert "class" not in each.attrib
        for name, value in each.attrib.items():
            assert "var(" not in value, (each.tag, name)
            assert "currentcolor" not in value.lower(), (each.tag, name)
            if name.endswith("href"):
                assert value.startswith("data:image/png;base64,")
            if named := re.fullmatch(r'url\("?#(.+?)"?\)', value):
                assert root.find(f".//*[@id='{named[1]}']") is not None


def test_every_line_of_text_is_where_the_page_has_it(open_page, server, tmp_path):
    page = open_page(f"{server.url}#/writing")
    root = ElementTree.parse(saved(page, "SVG", tmp_path)).getroot()
    heading = page.locator("#content h2").first.bounding_box()
    lead = page.locator("#content .lead").first.bounding_box()
    at = {text.text: (float(text.get("x")), float(text.get("y"))) for text in root.iter(f"{SVG}text") if text.get("x")}
    [first] = [place for text, place in at.items() if text == "Writing, step by step"]
    [second] = [place for text, place in at.items() if text and text.startswith("At each step")]
    assert first[0] - second[0] == pytest.approx(heading["x"] - lead["x"], abs=1)
    assert 0 < second[1] - first[1] < lead["y"] + lead["height"] - heading["y"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_png_is_twice_as_fine_and_in_the_colours_of_the_theme(open_page, server, tmp_path, theme):
    page = open_page(f"{server.url}#/attention?at=decoder.2.cross", color_scheme=theme)
    page.wait_for_selector(".head")
    root = ElementTree.parse(saved(page, "SVG", tmp_path)).getroot()
    assert root.find(f"{SVG}rect").get("fill") == PAPER[theme]
    with Image.open(saved(page, "PNG", tmp_path)) as picture:
        assert picture.size == (2 * int(root.get("width")), 2 * int(root.get("height")))
        assert f"rgb{picture.convert('RGB').getpixel((3, 3))}" == PAPER[theme]
        assert len(picture.convert("RGB").getcolors(1 << 24)) > 100  # the tables are in it


def test_it_is_reached_by_keyboard_and_in_chinese(open_page, server, tmp_path):
    page = open_page(f"{server.url}#/writing", locale="zh-CN")
    page.locator("nav a").last.focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText") == "SVG"
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    download.value.save_as(tmp_path / "picture.svg")
    assert "接下来可能写什么" in " ".join(texts(ElementTree.parse(tmp_path / "picture.svg").getroot()))


def test_a_file_saves_without_a_server(open_page, explainer, tmp_path):
    (tmp_path / "page.html").write_text(
        write_page(explainer, RunOptions(text="我爱你", beam=1), lambda *_: None), "utf-8"
    )
    page = open_page((tmp_path / "page.html").as_uri() + "#/attention", width=390)
    page.wait_for_selector(".head")
    root = ElementTree.parse(saved(page, "SVG", tmp_path)).getroot()
    assert root.find(f"{SVG}title").text.startswith("我爱你 → ")
    assert any("爱" in each for each in texts(root))
    with Image.open(saved(page, "PNG", tmp_path)) as picture:
        assert picture.width == 2 * int(root.get("width"))
