"""The document of a run says what the model did: its numbers are PyTorch's, to the bit."""

import base64
import json

import numpy as np
import pytest
import torch

from prosector.data.batching import pad
from prosector.explain.arrays import packed
from prosector.explain.explainer import Explainer
from prosector.explain.options import RunOptions, options_from
from prosector.explain.translation import translate
from prosector.observe import observe

TEXT = "我喜欢深度学习。"


def unpacked(array):
    kind = {"f4": "<f4", "f2": "<f2"}[array["type"]]
    return torch.from_numpy(np.frombuffer(base64.b64decode(array["data"]), kind).reshape(array["shape"]).copy())


@pytest.fixture(scope="module")
def document(explainer):
    return json.loads(json.dumps(explainer.page(RunOptions(text=TEXT)), allow_nan=False))


@pytest.fixture(scope="module")
def seen(translator, document):
    """The same run, seen without the page."""
    src = pad([translator.ids(TEXT)])
    tgt = torch.tensor([[token["id"] for token in document["sequences"]["target"]]])
    with torch.inference_mode(), observe(translator.model) as seen:
        translator.model(src, tgt)
    return seen


def test_every_recorded_number_is_pytorchs(document, seen):
    assert len(document["values"]) > 90
    for address, array in document["values"].items():
        assert torch.equal(unpacked(array), seen[address][0]), address


def test_float16_keeps_three_digits():
    values = torch.tensor([[0.1234567, -3.0, 1e9]])
    assert unpacked(packed(values, "f2"))[0].tolist() == pytest.approx([0.1234567, -3.0, 65504.0], rel=1e-3)


def test_the_translation_is_the_translators(document, translator):
    assert document["output"] == translator.translate(TEXT)
    assert document["greedy"] == translator.translate(TEXT, beam=1)


def test_candidates_are_the_softmax_of_the_logits(document, seen):
    p = seen["logits"][0].double().softmax(dim=-1)
    for row, step in enumerate(document["steps"]):
        for candidate in step["candidates"]:
            assert candidate["p"] == pytest.approx(p[row, candidate["token"]["id"]].item(), rel=1e-3)
        best = step["candidates"][0]["p"]
        assert best == max(candidate["p"] for candidate in step["candidates"])
        assert step["chosen"]["token"]["id"] == document["written"][row]["id"]


def test_shares_sum_to_the_logit(document, seen):
    for row, (shares, token) in enumerate(zip(document["shares"], document["written"], strict=True)):
        assert sum(shares.values()) == pytest.approx(seen["logits"][0, row, token["id"]].item(), abs=5e-3)


def test_the_lens_ends_with_what_the_model_says(document):
    for said, step in zip(document["lens"][-1], document["steps"], strict=True):
        assert said["token"] == step["candidates"][0]["token"]


def test_the_machine_is_this_model(document, translator):
    machine, config = document["machine"], translator.config.model
    encoder, decoder = machine["stacks"]
    assert [len(encoder["layers"]), len(decoder["layers"])] == [config.encoder_layers, config.decoder_layers]
    assert [part["kind"] for part in decoder["layers"][0]["sublayers"]] == ["self", "cross", "feed-forward"]
    assert encoder["layers"][0]["sublayers"][0]["heads"] == config.n_heads
    assert encoder["position"] == {"name": "Sinusoidal", "acts": ["embed"]}
    assert machine["total"] == sum(p.numel() for p in translator.model.parameters())


def test_without_positions_words_are_a_bag(translator):
    """我爱你 and 你爱我 are the same words: without positions they come out the same, and with them not."""
    texts = [("我爱你", "你爱我")] * 2
    outputs = [
        [translate(translator, RunOptions(text=text, positions_off=off)).document()["output"] for text in pair]
        for off, pair in zip((False, True), texts, strict=True)
    ]
    assert outputs[0][0] != outputs[0][1]
    assert outputs[1][0] == outputs[1][1]
    assert type(translator.model.encoder.position).__name__ == "SinusoidalPosition"  # the model itself is untouched


def test_without_the_mask_the_future_is_seen(translator):
    run = translate(translator, RunOptions(text=TEXT, mask_off=True))
    weights = run.seen["decoder.0.self.weights"][0]
    assert (weights.triu(1) > 0).any()
    assert torch.allclose(weights.sum(-1), torch.ones(()))


def test_a_head_that_is_off_finds_nothing(translator):
    run = translate(translator, RunOptions(text=TEXT, heads_off=(("decoder.1.cross", 2),)))
    heads = run.seen["decoder.1.cross.heads"][0]
    assert not heads[2].any()
    assert heads[1].any()


def test_what_is_forced_is_written_and_the_rest_follows(translator):
    [you] = translator.target.encode("You")[:1]
    document = translate(translator, RunOptions(text=TEXT, prefix=(you,))).document()
    assert document["written"][0]["id"] == you
    assert document["output"].startswith("You ")


def test_a_temperature_flattens_and_draws_the_same_again(translator):
    options = RunOptions(text=TEXT, temperature=1.3, seed=5)
    first, second = (translate(translator, options).document() for _ in range(2))
    assert first["output"] == second["output"]
    assert first["tree"] is None
    sharp = translate(translator, RunOptions(text=TEXT)).document()
    assert first["steps"][0]["candidates"][0]["p"] < sharp["steps"][0]["candidates"][0]["p"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"text": "  "}, "blank"),
        ({"text": "我" * 200}, "reads 100 at once"),
        ({"text": "我", "heads_off": [["decoder.9.cross", 0]]}, "no head 0 at 'decoder.9.cross'"),
        ({"text": "我", "heads_off": [["decoder.0.cross", 4]]}, "it has 4"),
        ({"text": "我", "prefix": [99999]}, "no token 99999"),
        ({"text": "我", "prefix": [0]}, "token 0 is one that no one writes"),
        ({"text": "我", "beam": 0}, "beam"),
        ({"text": "我", "colour": "red"}, "colour"),
        ({}, "text"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(translator, given, says):
    with pytest.raises(ValueError, match=says) as caught:
        Explainer("zh-en", translator).run(options_from(given))
    assert "\n" not in str(caught.value)


def test_the_first_run_and_the_last_are_kept(translator):
    from prosector.explain.explainer import KEPT, Explainer
    from prosector.explain.value import Cell

    explainer = Explainer("zh-en", translator)
    numbers = [explainer.run(RunOptions(text="你好", beam=1))["run"] for _ in range(KEPT + 2)]
    cell = Cell(address="encoder", row=0, column=0)
    for number in (numbers[0], *numbers[3:]):
        assert explainer.value(number, cell)["lines"]
    with pytest.raises(ValueError, match="run 2 is no longer kept"):
        explainer.value(numbers[1], cell)
