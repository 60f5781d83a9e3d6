"""The other models by the same page: what each shows is what the model says."""

import json

import pytest
import torch
from tests.explain.test_document import unpacked

from prosector.decoding.any_model import load_any
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions
from prosector.explain.page import as_json


def shown(name, text, **options):
    ability = load_any(name)
    document = json.loads(as_json(Explainer(name, ability).page(RunOptions(text=text, **options))))
    return ability, document


def test_gpt_goes_on():
    writer, document = shown("gpt", "I like")
    assert document["output"] == writer.write("I like", temperature=0, max_tokens=24).strip()
    assert [step["chosen"]["rank"] for step in document["steps"]] == [1] * len(document["written"])
    weights = unpacked(document["values"]["decoder.0.attention.weights"])
    assert not weights.triu(1).any()  # it looks back only
    for shares, step in zip(document["shares"], document["steps"], strict=True):
        assert sum(shares.values()) == pytest.approx(step["candidates"][0]["logit"], abs=5e-3)


def test_gpt_can_be_drawn_and_forced():
    writer, document = shown("gpt", "I like", temperature=1.2, seed=3)
    assert document["output"] == shown("gpt", "I like", temperature=1.2, seed=3)[1]["output"]
    [to] = writer.tokenizer.encode("to")
    assert shown("gpt", "I like", prefix=[to])[1]["written"][0]["id"] == to


def test_bert_fills_gaps():
    reader, document = shown("bert", "我[MASK]深度[MASK]。")
    gaps = reader.fill("我[MASK]深度[MASK]。", top=3)
    for gap, step in zip(gaps, document["steps"], strict=True):
        said = [(each["token"]["text"], pytest.approx(each["p"], rel=1e-2)) for each in step["candidates"][:3]]
        assert [(guess.name, guess.probability) for guess in gap.guesses] == said
    assert sum(token["text"] == "[MASK]" for token in document["sequences"]["text"]) == 2
    assert shown("bert", "我喜欢你。")[1]["steps"] == []


@pytest.fixture
def picture(tmp_path):
    from PIL import Image

    values = torch.zeros(28, 28)
    values[4:24, 12:16] = 1
    Image.fromarray((values * 255).byte().numpy()).save(tmp_path / "one.png")
    return tmp_path / "one.png"


def test_vit_has_a_token_for_each_patch(picture):
    classifier, document = shown("vit", str(picture))
    [[guess]] = classifier.predict([picture])
    assert document["output"] == guess.name
    assert document["steps"][0]["candidates"][0]["p"] == pytest.approx(guess.probability, abs=1e-5)
    assert len(document["sequences"]["patches"]) == 1 + 7 * 7
    assert unpacked(document["values"]["encoder.0.attention.weights"]).shape == (4, 50, 50)
    assert document["text"] == "one.png"


def test_the_gates_lie_over_the_picture(picture):
    segmenter, document = shown("attention-unet", str(picture))
    over = {each["name"]: unpacked(each["values"]) for each in document["picture"]["over"]}
    assert [name.split(".")[0] for name in over] == ["gate0", "gate1", "gate2", "chance"]
    assert all(table.min() >= 0 and table.max() <= 1 for table in over.values())
    assert ((over["chance"] >= segmenter.config.threshold) == segmenter.predict(picture).bool()).all()


def test_the_recurrent_translator_shows_its_alignment():
    translator, document = shown("rnn-attention", "我喜欢你。")
    weights = unpacked(document["values"]["attention.weights"])
    assert weights.shape == (len(document["written"]), len(document["sequences"]["source"]))
    assert torch.allclose(weights.sum(-1), torch.ones(()))
    assert document["output"] == translator.translate("我喜欢你。")
    assert document["tree"]["looksOf"]


def test_a_page_of_a_picture_takes_no_other(picture):
    explainer = Explainer("vit", load_any("vit"), only=str(picture))
    with pytest.raises(ValueError, match="the one picture"):
        explainer.run(RunOptions(text="/etc/passwd"))


def test_a_conv_transformer_is_two_stages_whose_keys_are_fewer(picture):
    classifier, document = shown("conv-transformer", str(picture))
    [[guess]] = classifier.predict([picture])
    assert document["output"] == guess.name
    assert [stack["sequence"] for stack in document["machine"]["stacks"]] == ["stage0", "stage1"]
    for stack in document["machine"]["stacks"]:
        for layer in stack["layers"]:
            attention = layer["sublayers"][0]
            weights = unpacked(document["values"][f"{attention['address']}.weights"])
            queries, keys = (document["sequences"][name] for name in (stack["sequence"], attention["keys"]))
            assert weights.shape == (attention["heads"], len(queries), len(keys))
    assert [token["text"] for token in document["sequences"]["stage1.keys"][:4]] == ["[class]", "1,1", "1,3", "1,5"]


@pytest.mark.parametrize(
    ("name", "text", "view"),
    [
        ("gpt", "I like", "writing"),
        ("bert", "我[MASK]你。", "attention"),
        ("rnn-attention", "我喜欢你。", "writing"),
        ("rnn", "我喜欢你。", "whatif"),
    ],
)
def test_each_opens_in_the_browser(open_page, tmp_path, name, text, view):
    from prosector.explain.page import fitting

    page = fitting(Explainer(name, load_any(name)), RunOptions(text=text), [])
    (tmp_path / "page.html").write_text(page, "utf-8")
    opened = open_page((tmp_path / "page.html").as_uri() + f"#/{view}")
    opened.wait_for_selector("#content h2")
    assert opened.locator("nav a[aria-current]").count() == 1


@pytest.mark.parametrize(("name", "n_pictures"), [("vit", 1 + 16), ("conv-transformer", 1 + 10), ("attention-unet", 5)])
def test_pictures_open_in_the_browser(open_page, tmp_path, picture, name, n_pictures):
    from prosector.explain.page import fitting

    page = fitting(Explainer(name, load_any(name)), RunOptions(text=str(picture)), [])
    (tmp_path / "page.html").write_text(page, "utf-8")
    opened = open_page((tmp_path / "page.html").as_uri() + "#/picture")
    opened.wait_for_selector(".picture canvas")
    assert opened.locator(".picture canvas").count() == n_pictures
    for link in opened.locator("nav a").all():
        link.click()
        opened.wait_for_selector("#content h2")
