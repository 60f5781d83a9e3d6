"""What-ifs of the other models: what is taken away is really away, and what is not there is refused in a sentence."""

import json
from threading import Thread

import pytest
import torch
from tests.explain.test_document import unpacked
from tests.explain.test_others import picture  # noqa: F401

from prosector.decoding.any_model import load_any
from prosector.explain.changeable import changeable
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import as_json
from prosector.explain.server import PageServer


def run(name, text, **options):
    return json.loads(as_json(Explainer(name, load_any(name)).run(RunOptions(text=text, **options))))


def test_what_can_be_changed_is_what_there_is():
    assert changeable(load_any("gpt")) == ["text", "temperature", "force", "mask", "positions", "heads"]
    assert changeable(load_any("bert")) == ["text", "positions", "heads"]
    assert changeable(load_any("vit")) == ["positions", "heads"]
    assert changeable(load_any("conv-transformer")) == ["heads"]
    assert changeable(load_any("rnn-attention")) == ["text", "search", "temperature", "force"]
    assert changeable(load_any("attention-unet")) == []


def test_a_gpt_without_its_mask_looks_ahead():
    weights = unpacked(run("gpt", "I like", mask_off=True)["values"]["decoder.0.attention.weights"])
    assert weights.triu(1).any()
    assert not unpacked(run("gpt", "I like")["values"]["decoder.0.attention.weights"]).triu(1).any()


def test_the_first_word_of_a_gpt_without_its_mask_is_that_of_the_whole_matrix():
    """No cache, no mask: the plain forward pass with everything visible says the same word."""
    from prosector.attention import Mask

    writer = load_any("gpt")
    with torch.inference_mode():
        hidden = writer.model.hidden(torch.tensor([writer.read("I like")]), mask=Mask.window(None, None))
        logits = writer.model.logits(hidden)[0, -1].clone()
        logits[writer.special.unwritten] = -torch.inf
    assert run("gpt", "I like", mask_off=True)["written"][0]["id"] == int(logits.argmax())


def test_for_every_order_a_bert_without_positions_says_the_same():
    sides = [run("bert", text, positions_off=True) for text in ("我[MASK]你他", "我他[MASK]你")]
    assert sorted(token["id"] for token in sides[0]["sequences"]["text"]) == sorted(
        token["id"] for token in sides[1]["sequences"]["text"]
    )
    first, second = ({c["token"]["id"]: c["p"] for c in side["steps"][0]["candidates"]} for side in sides)
    assert first == pytest.approx(second, rel=1e-3)
    ordered = [run("bert", text)["steps"][0]["candidates"][0]["p"] for text in ("我[MASK]你他", "我他[MASK]你")]
    assert ordered[0] != pytest.approx(ordered[1], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "attention"),
    [
        ("gpt", "decoder.1.attention"),
        ("bert", "encoder.1.attention"),
        ("vit", "encoder.1.attention"),
        ("conv-transformer", "stage1.1.attention.attention"),
    ],
)
def test_a_head_that_is_off_finds_zeros(name, attention, request):
    sees = name in ("vit", "conv-transformer")
    text = str(request.getfixturevalue("picture")) if sees else "我[MASK]你。"
    document = run(name, text, heads_off=((attention, 1),))
    heads = unpacked(document["values"][f"{attention}.heads"])
    assert not heads[1].any()
    assert heads[0].any()
    assert document["steps"] != run(name, text)["steps"]


def test_a_vit_without_positions_does_not_know_where_a_patch_is(picture):  # noqa: F811
    values = run("vit", str(picture), positions_off=True)["values"]
    black = unpacked(values["encoder.input"])[[1, 7, 43, 49]]  # its four corners
    assert torch.equal(black, black[:1].expand(4, -1))


def test_a_recurrent_translator_is_forced_to_another_word():
    translator = load_any("rnn-attention")
    [you] = translator.target.encode("You")
    document = run("rnn-attention", "我喜欢你。", prefix=(you,))
    assert document["written"][0]["id"] == you
    assert document["output"].startswith("You")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("bert", {"mask_off": True}, "no causal mask"),
        ("bert", {"prefix": (5,)}, "does not write"),
        ("bert", {"temperature": 1.0}, "does not write"),
        ("rnn-attention", {"mask_off": True}, "no causal mask"),
        ("rnn-attention", {"positions_off": True}, "no positions"),
        ("rnn", {"heads_off": (("encoder", 0),)}, "no heads"),
        ("gpt", {"heads_off": (("decoder.0.attention", 9),)}, "no head 9"),
        ("gpt", {"prefix": (10**6,)}, "no token 1000000"),
        ("gpt", {"prefix": (0,)}, "no one writes"),
    ],
)
def test_what_is_not_there_is_refused_in_a_sentence(name, options, says):
    with pytest.raises(ValueError, match=says):
        run(name, "我喜欢你", **options)


def test_a_file_brings_along_what_this_model_can_lose():
    explainer = Explainer("gpt", load_any("gpt"))
    found = [outcome["options"] for outcome in explainer.whatifs(RunOptions(text="I"))]
    assert len(found) == 2 + 4 * 4
    assert [found[0]["mask_off"], found[1]["positions_off"], len(found[2]["heads_off"])] == [True, True, 1]
    assert list(Explainer("rnn", load_any("rnn")).whatifs(RunOptions(text="我"))) == []


@pytest.fixture
def served(open_page):
    servers = []

    def open_(name, text, view):
        server = PageServer(Explainer(name, load_any(name)), RunOptions(text=text))
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return open_page(f"{server.url}#/{view}")

    yield open_
    for server in servers:
        server.shutdown()
        server.server_close()


def test_on_the_page_a_gpt_loses_its_mask_and_is_forced(served):
    page = served("gpt", "I like", "whatif")
    page.get_by_label("no causal mask").check()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_test_id("output-after").wait_for()
    assert "no causal mask" in page.locator(".side").nth(1).inner_text()
    candidate = page.locator(".side").nth(1).locator(".candidates button").first
    word = candidate.inner_text()
    candidate.click()
    page.locator(".changes", has_text="forced beginning").wait_for()
    assert page.locator(".side").nth(1).locator(".sure b").first.inner_text() == word


@pytest.mark.parametrize(
    ("name", "text", "says", "n_steps"),
    [
        ("gpt", "I like", [], 11),
        ("bert", "我[MASK]你。", ["sees everything at once"], 9),
        ("rnn-attention", "我喜欢你。", ["no mask, no positions and no heads"], 0),
        ("conv-transformer", "picture", ["sees everything at once", "convolutions know"], 8),
        ("vit", "picture", ["sees everything at once"], 9),
        ("attention-unet", "picture", ["nothing here to take away"], 0),
    ],
)
def test_the_page_says_what_makes_no_sense_and_the_tour_goes_to_its_end(served, name, text, says, n_steps, request):
    page = served(name, str(request.getfixturevalue("picture")) if text == "picture" else text, "whatif")
    page.wait_for_selector("#content h2")
    notes = page.locator(".whatif > .note").all_inner_texts()
    assert len(notes) == len(says)
    for note, words in zip(notes, says, strict=True):
        assert words in note
    page.locator("nav a", has_text="Tour").click()
    if not n_steps:
        assert "of another kind" in page.locator(".tour-start .lead").inner_text()
        return
    page.get_by_role("button", name="Begin").click()
    for step in range(1, n_steps + 1):
        assert page.locator(".tour-card .count").inner_text() == f"{step} / {n_steps}"
        assert page.locator("#content h2").count()
        page.locator(".tour-card footer .primary").click()
    assert page.locator(".tour-card").count() == 0
