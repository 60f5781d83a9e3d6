"""Figures for papers: the numbers drawn are those that were recorded, the words are text, the sizes are as asked."""

import re
from html import unescape

import numpy as np
import pytest
import torch

from prosector.data.batching import pad
from prosector.decoding.any_model import load_any
from prosector.explain.explainer import Explainer
from prosector.explain.figure import COLUMN, PAGE, attentions, draw, places, save
from prosector.explain.fonts import LATIN, font_for
from prosector.explain.options import RunOptions
from prosector.observe import observe

TEXT = "我喜欢深度学习。"

pytestmark = pytest.mark.skipif(font_for("喜欢深度学习") is None, reason="no font here has Chinese")


@pytest.fixture(scope="module")
def document(explainer):
    return explainer.run(RunOptions(text=TEXT))


@pytest.fixture(scope="module")
def seen(translator, document):
    """The same run, seen without a document."""
    src = pad([translator.ids(TEXT)])
    tgt = torch.tensor([[token["id"] for token in document["sequences"]["target"]]])
    with torch.inference_mode(), observe(translator.model) as seen:
        translator.model(src, tgt)
    return seen


def drawn(figure, name):
    """What was drawn under a name, panel by panel."""
    return [part.get_array() for part in figure.findobj(lambda part: part.get_gid() == name)]


def words(axis):
    return [label.get_text() for label in axis.get_xticklabels()], [
        label.get_text() for label in axis.get_yticklabels()
    ]


@pytest.mark.parametrize("address", ["encoder.1.attention", "decoder.0.self", "decoder.2.cross"])
def test_every_weight_drawn_is_the_recorded_one(document, seen, address):
    figure = draw(document, address)
    np.testing.assert_array_equal(np.stack(drawn(figure, "weights")), seen[f"{address}.weights"][0])
    assert figure.get_figwidth() == PAGE


def test_one_head_alone_counts_from_one(document, seen):
    figure = draw(document, "decoder.2.cross.weights", head=2)
    [weights] = drawn(figure, "weights")
    np.testing.assert_array_equal(weights, seen["decoder.2.cross.weights"][0, 1])
    assert figure.get_figwidth() == COLUMN
    numbers = [float(text.get_text()) for text in figure.axes[0].texts]
    np.testing.assert_allclose(numbers, weights.flatten(), atol=5.1e-3)


def test_tokens_stand_on_both_axes(document):
    read = [token["text"] for token in document["sequences"]["source"]]
    written = [token["text"] for token in document["written"]]
    target = [token["text"] for token in document["sequences"]["target"]]
    assert words(draw(document, "decoder.2.cross").axes[0]) == (read, written)
    assert words(draw(document, "decoder.2.self").axes[0]) == (target, target)


def test_an_alignment_is_the_mean_of_the_heads_of_the_last_layer(document, seen):
    figure = draw(document, "alignment")
    [lines] = figure.findobj(lambda part: part.get_gid() == "alignment")
    mean = seen["decoder.2.cross.weights"][0].mean(dim=0).flatten()
    np.testing.assert_allclose(lines.get_alpha(), mean, atol=1e-6)
    np.testing.assert_allclose(lines.get_linewidths(), 3 * mean, atol=1e-5)
    n_keys = len(document["sequences"]["source"])
    for number, ((below, _), (above, _)) in enumerate(lines.get_segments()):
        assert below == pytest.approx((number // n_keys + 0.5) / len(document["written"]))
        assert above == pytest.approx((number % n_keys + 0.5) / n_keys)


def test_candidates_are_those_of_the_steps(document):
    figure = draw(document, "candidates")
    [p] = drawn(figure, "candidates")
    assert p.tolist() == [[step["candidates"][rank]["p"] for step in document["steps"]] for rank in range(5)]
    said = [text.get_text() for text in figure.axes[0].texts]
    assert said[0::2] == [each["token"]["text"] for step in document["steps"] for each in step["candidates"][:5]]
    assert len(figure.axes[0].patches) == sum(step["chosen"]["rank"] <= 5 for step in document["steps"])


def test_a_beam_has_the_words_and_scores_of_its_hypotheses(document):
    said = [text.get_text() for text in draw(document, "beam").axes[0].texts]
    nodes = document["tree"]["nodes"]
    for _, token, _, _, state, score in nodes[1:]:
        if state != "passed":
            said.remove(document["tree"]["tokens"][token]["text"])
            if score is not None:
                said.remove(f"{score:.2f}")
    assert said == []


def test_in_an_svg_text_is_text_and_cells_are_shapes(document, tmp_path):
    save(draw(document, "decoder.2.cross"), tmp_path / "a.svg")
    svg = (tmp_path / "a.svg").read_text("utf-8")
    texts = {unescape(text) for text in re.findall(r"<text[^>]*>([^<]+)</text>", svg)}
    assert {"head 1", "head 4", "attention weight", "learning"} <= texts
    assert {token["text"] for token in document["sequences"]["source"]} <= texts
    panels = re.findall(r'<g id="weights".*?</g>', svg, re.DOTALL)
    assert panels[0].count("<path") == len(document["written"]) * len(document["sequences"]["source"])


@pytest.mark.parametrize("kind", ["pdf", "svg", "png"])
def test_the_same_figure_gives_the_same_bytes(document, tmp_path, kind):
    for name in ("a", "b"):
        save(draw(document, "alignment"), tmp_path / f"{name}.{kind}")
    first, second = ((tmp_path / f"{name}.{kind}").read_bytes() for name in ("a", "b"))
    assert first == second
    assert first.startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[kind])


def test_a_pdf_of_latin_letters_embeds_its_font_whole(document, tmp_path):
    """Type 3 fonts, which many journals refuse, are used where there is no other way alone: for Chinese."""
    save(draw(document, "decoder.2.cross"), tmp_path / "chinese.pdf")
    assert b"/Type3" in (tmp_path / "chinese.pdf").read_bytes()
    _, english = run("gpt", "I like")
    figure = draw(english)
    assert {font for text in figure.texts for font in text.get_fontfamily()} == {LATIN}
    save(figure, tmp_path / "english.pdf")
    pdf = (tmp_path / "english.pdf").read_bytes()
    assert b"/CIDFontType2" in pdf
    assert b"/Type3" not in pdf


def run(name, text):
    ability = load_any(name)
    return ability, Explainer(name, ability).run(RunOptions(text=text))


@pytest.mark.parametrize(
    ("name", "last", "others"),
    [
        ("gpt", "decoder.3.attention", ["candidates"]),
        ("bert", "encoder.3.attention", ["candidates"]),
        ("rnn-attention", "attention", ["alignment", "candidates", "beam"]),
        ("rnn", None, ["candidates", "beam"]),
    ],
)
def test_other_models(name, last, others):
    _, document = run(name, "我[MASK]你。" if name == "bert" else "我喜欢你。")
    found = attentions(document)
    assert places(document) == [*found, *others]
    assert next(reversed(found), None) == last
    for attention in found.values():
        assert attention.weights.shape == (len(attention.weights), len(attention.queries), len(attention.keys))
        np.testing.assert_allclose(attention.weights.sum(axis=-1), 1, atol=1e-5)
    for at in (None, *others):
        assert draw(document, at).axes


@pytest.mark.parametrize(
    ("at", "head", "width", "says"),
    [
        ("decoder.9.cross", None, None, "this run has encoder.0.attention, .*, alignment, candidates, beam"),
        ("decoder.0.cross", 0, None, "has the heads 1 to 4"),
        ("candidates", 1, None, "candidates has no heads"),
        (None, None, 0.5, "1 to 40 inches"),
    ],
)
def test_what_cannot_be_drawn_is_said(document, at, head, width, says):
    with pytest.raises(ValueError, match=says):
        draw(document, at, head, width)
