"""`prosector explain`, as people call it."""

import json
import re
import urllib.request

import pytest
from tests.cli.calls import start


def document_of(page):
    [data] = re.findall(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


def test_a_file(prosector, model, tmp_path):
    result = prosector("explain", "--model", model, "我喜欢猫。", "--html", tmp_path / "page.html")
    assert result.code == 0
    assert result.out == ""
    assert "page.html: " in result.err
    document = document_of((tmp_path / "page.html").read_text("utf-8"))
    assert document["text"] == "我喜欢猫。"
    assert document["model"] == "model"
    assert len(document["whatifs"]) == 2 + 2 * 3  # the mask, the positions, two heads of each attention
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_it_says_what_it_does_also_where_nobody_can_redraw(prosector, model, tmp_path):
    err = prosector("explain", "--model", model, "我喜欢猫。", "--html", tmp_path / "page.html").err
    assert "\x1b" not in err
    lines = err.splitlines()
    assert lines[:3] == ["loading the model", "running model", "running it without one part, 1 of 8"]
    assert lines[-2] == "running it without one part, 8 of 8"


def test_a_figure(prosector, model, tmp_path):
    file = tmp_path / "heads.svg"
    result = prosector("explain", "--model", model, "我喜欢猫。", "--figure", file, "--at", "decoder.0.cross")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[-1].startswith(f"{file}: 6.75 × ")
    assert "喜" in file.read_text("utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["heads.svg"]


def test_it_is_served_until_ctrl_c(model):
    command = start("explain", "--model", model, "我喜欢猫。", "--no-browser", "--beam", 2)
    address = command.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
    with urllib.request.urlopen(address) as response:
        document = document_of(response.read().decode())
    assert document["options"]["beam"] == 2
    command.send_signal(2)
    assert command.wait(30) == 130
    assert "Traceback" not in command.stderr.read()
    command.stdout.close()
    command.stderr.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["", "--html", "page.html"], "blank"),
        (["我", "--html", "page.txt"], "page.txt: a page is written as .html"),
        (["我", "--html", "nowhere/page.html"], "there is no folder nowhere"),
        (["我", "--beam", "99"], "--beam"),
        (["我" * 300], "tokens, and the model reads"),
        (["我", "--figure", "heads.gif"], "heads.gif: a figure is written as .pdf, .svg or .png"),
        (["我", "--figure", "nowhere/heads.pdf"], "there is no folder nowhere"),
        (["我", "--figure", "a.pdf", "--html", "a.html"], "leave one out"),
        (
            ["我", "--figure", "a.pdf", "--at", "nowhere"],
            "'nowhere'; this run has encoder.0.attention, ",
        ),
        (["我", "--figure", "a.pdf", "--head", "3"], "--head 3: decoder.0.cross has the heads 1 to 2"),
        (["我", "--figure", "a.pdf", "--at", "beam", "--head", "1"], "beam has no heads"),
        (["我", "--figure", "a.pdf", "--width", "0"], "--width 0: a figure is 1 to 40 inches wide"),
        (["我", "--head", "1"], "give that too"),
    ],
)
def test_mistakes_are_named(prosector, model, arguments, says, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    result = prosector("explain", "--model", model, *arguments)
    assert result.code == 2
    *doing, line = result.err.splitlines()
    assert says in line
    assert set(doing) <= {"loading the model", "running model", "drawing"}
    assert not list(tmp_path.iterdir())


def test_a_text_without_a_gap_is_shown_and_it_is_said(prosector, tmp_path):
    result = prosector("explain", "--model", "bert", "我喜欢你。", "--html", tmp_path / "page.html")
    assert result.code == 0
    assert "no [MASK] in the text" in result.err
    assert document_of((tmp_path / "page.html").read_text("utf-8"))["steps"] == []
    result = prosector("explain", "--model", "bert", "我[MASK]你。", "--html", tmp_path / "page.html")
    assert "no [MASK]" not in result.err


def test_a_model_that_sees_needs_a_picture(prosector):
    assert "give the file of one" in prosector("explain", "--model", "vit").err
    assert prosector("explain", "--model", "vit", "nowhere.png").code == 2
