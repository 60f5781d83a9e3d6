"""Models of Hugging Face on the page: imported, explained, opened; their tokens are what people read."""

import json
from pathlib import Path

import pytest

pytest.importorskip("transformers")

from tests.interop.hugging_face import folders

from prosector.cli.main import main
from prosector.decoding.any_model import load_any
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import as_json, write_page
from prosector.text.imported import of_bytes

TEXTS = {"gpt2": "The cat", "llama": "The cat", "bert": "I [MASK] deep learning.", "marian": "我喜欢深度学习。"}


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """Each of them, imported once."""
    known = {}

    def get(name) -> Path:
        if name not in known:
            folder = tmp_path_factory.mktemp(name)
            (folder / "theirs").mkdir()
            getattr(folders, name)(folder / "theirs")
            assert main(["import", str(folder / "theirs"), "--out", str(folder / "ours")]) == 0
            known[name] = folder / "ours"
        return known[name]

    return get


@pytest.fixture
def text_for(tmp_path):
    from PIL import Image

    def get(name):
        if name != "vit":
            return TEXTS[name]
        Image.linear_gradient("L").convert("RGB").resize((16, 16)).save(tmp_path / "picture.png")
        return str(tmp_path / "picture.png")

    return get


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "marian", "vit"])
def test_every_view_of_an_imported_model_opens(imported, text_for, open_page, tmp_path, name):
    explainer = Explainer(name, load_any(imported(name)))
    page = write_page(explainer, RunOptions(text=text_for(name), beam=2), lambda *_: None)
    (tmp_path / "page.html").write_text(page, "utf-8")
    opened = open_page((tmp_path / "page.html").as_uri())
    for link in opened.locator("nav a").all():
        link.click()
        opened.wait_for_selector("#content :is(h2, .machine)")
    assert opened.locator("nav a").count() == 6
    opened.locator("nav a", has_text="What if").click()
    assert opened.locator(".pick option").count() == len(explainer.changes())


def test_special_tokens_have_their_own_names(imported):
    document = json.loads(as_json(Explainer("bert", load_any(imported("bert"))).run(RunOptions(text=TEXTS["bert"]))))
    names = [token["text"] for token in document["sequences"]["text"]]
    assert (names[0], names[2], names[-1]) == ("[CLS]", "[MASK]", "[SEP]")


@pytest.mark.parametrize(
    ("piece", "says"),
    [
        ("Ġcat", "▁cat"),
        ("æ·±", "深"),
        ("æ·", "<0xE6><0xB7>"),
        ("Ċ", "<0x0A>"),
        ("the", "the"),
    ],
)
def test_pieces_of_bytes_are_read_as_characters(piece, says):
    assert of_bytes(piece) == says
