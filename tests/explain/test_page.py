"""The page as one file: small, closed to the world, and what a user wrote stays text in it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from prosector.explain.options import RunOptions
from prosector.explain.page import LIMIT, STATIC, as_json, fitting, write_page

ROOT = Path(__file__).parents[2]


NASTY = "我<b>爱</b></script><img src=x onerror=alert(1)>你"


def data_of(page):
    [data] = re.findall(r'<script type="application/json" id="document">(.*?)</script>', page, re.DOTALL)
    return json.loads(data)


@pytest.fixture(scope="module")
def page(explainer):
    return write_page(explainer, RunOptions(text="我爱你", beam=2), lambda *_: None)


def test_it_is_small_and_asks_nobody(page):
    assert len(page.encode()) < LIMIT
    assert "default-src 'none'" in page
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=[\"'](?!data:)", page)


def test_the_what_ifs_are_there(page, translator):
    whatifs = data_of(page)["whatifs"]
    config = translator.config.model
    n_heads = config.n_heads * (config.encoder_layers + 2 * config.decoder_layers)
    assert len(whatifs) == 2 + n_heads
    assert sum(whatif["options"]["mask_off"] for whatif in whatifs) == 1
    assert len({json.dumps(whatif["options"]["heads_off"]) for whatif in whatifs}) == 1 + n_heads


def test_html_in_the_text_stays_text(explainer):
    page = fitting(explainer, RunOptions(text=NASTY, beam=1), [])
    assert "<img" not in page
    assert page.count("</script>") == 2  # the document's and the program's
    assert data_of(page)["text"] == NASTY


def test_a_long_sentence_fits_with_less_detail(explainer):
    text = "，".join(["今天天气很好我们去公园吧"] * 11)[:100]
    page = fitting(explainer, RunOptions(text=text, beam=1), [])
    assert len(page.encode()) < LIMIT
    assert {array["type"] for array in data_of(page)["values"].values()} == {"f2"}
    assert "encoder.0.attention.weights" in data_of(page)["values"]


def test_of_a_long_sentence_the_what_ifs_go_last_and_least_first(explainer):
    whatifs = [{"number": number, "values": {"x": "v" * 700_000}, "steps": "s" * 100_000} for number in range(30)]
    shown = data_of(fitting(explainer, RunOptions(text="我爱你", beam=1), whatifs))["whatifs"]
    assert [whatif["number"] for whatif in shown] == list(range(30))
    assert not any(whatif["values"] for whatif in shown)
    heavy = [whatif | {"steps": "s" * 1_000_000} for whatif in whatifs]
    assert len(data_of(fitting(explainer, RunOptions(text="我爱你", beam=1), heavy))["whatifs"]) == 2


def test_json_ends_no_element():
    assert as_json({"a": "</script><!--\u2028"}) == '{"a":"\\u003c/script>\\u003c!--\\u2028"}'


@pytest.mark.skipif(
    not shutil.which("npx") or not (ROOT / "web/node_modules").is_dir(), reason="web/ is not installed: make web"
)
def test_the_bundle_is_what_the_sources_give(tmp_path):
    build = ["npx", "vite", "build", "--outDir", str(tmp_path), "--logLevel", "error"]
    subprocess.run(build, cwd=ROOT / "web", check=True)
    subprocess.run([*build, "--config", "vite.widget.config.ts"], cwd=ROOT / "web", check=True)
    for name in ("explain.js", "explain.css", "widget.js"):
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), f"{name} is stale: make web"


def test_the_lock_names_no_registry():
    assert '"resolved"' not in (ROOT / "web/package-lock.json").read_text("utf-8")
