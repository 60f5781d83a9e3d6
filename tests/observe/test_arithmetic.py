"""Every number of a run is what its written-out calculation gives, for every step, position and model."""

import math
import re

import pytest
import torch
from tests.observe.models import SRC, TGT, translator, watched, writer

from prosector.observe import observe
from prosector.observe.arithmetic import explain_value
from prosector.observe.arithmetic.lines import Addend, Dot, Function, Name, Normed, Softmax, Style, Turned

MODELS = {
    "pre-norm": translator,
    "post-norm": lambda: translator(norm_placement="post", kernel="written-out"),
    "rms, gated, grouped, wide": lambda: translator(
        norm="rms", activation="swiglu", n_kv_heads=1, d_head=12, bias=False
    ),
    "geglu, tied, learned": lambda: translator(activation="geglu", tie="target", position="learned"),
    "gelu, binary": lambda: translator(activation="gelu", position="binary"),
    "gelu-tanh, none": lambda: translator(activation="gelu-tanh", position="none"),
    "swish, rope": lambda: translator(activation="swish", position="rope"),
    "rope, interleaved": lambda: translator(position={"kind": "rope", "layout": "interleaved"}),
    "yarn": lambda: translator(position="yarn"),
    "alibi": lambda: translator(position="alibi"),
    "t5": lambda: translator(position="t5", attention_scale=1.0, scale_output=True, norm="rms"),
    "marian": lambda: translator(norm_placement="post", output_bias=True, embedding_norm=True, scale_embedding=False),
    "a writer": lambda: writer(position="rope"),
    "a writer of its own": lambda: writer(tie=False, norm_placement="post", position="alibi"),
}
UNEXPLAINED = (".recomputed", "positions")


def explained(seen, every=7, beginnings=("",), **step):
    """Some numbers of each address that begins so, with their explanations."""
    for address in seen:
        if address.endswith(UNEXPLAINED) or not address.startswith(beginnings):
            continue
        value = seen.steps(address)[step.get("step", -1)]
        for batch in range(len(value)):
            places = torch.cartesian_prod(*(torch.arange(size) for size in value.shape[1:]))
            for place in places[:: max(1, len(places) // every)].tolist():
                names = ("head", "row", "column")[-len(place) :]
                yield explain_value(seen, address, batch=batch, **dict(zip(names, place, strict=True)), **step)


@pytest.mark.parametrize("name", MODELS)
def test_every_number_is_what_its_calculation_gives(name):
    found = list(explained(watched(MODELS[name]())))
    assert len({explanation.address for explanation in found}) >= 30
    wrong = [(one.address, one.value, one.recorded) for one in found if abs(one.value - one.recorded) > 2e-5]
    assert wrong == []


@pytest.mark.parametrize("name", ["pre-norm", "swish, rope", "alibi", "t5", "post-norm"])
def test_in_decoding_step_by_step_too(name):
    model = MODELS[name]()
    with torch.no_grad(), observe(model) as seen:
        memory, cache = model.encode(SRC), model.new_cache()
        for token in TGT.unbind(1):
            model.logits(model.decode(token[:, None], memory, SRC != 0, cache))
    for step in range(3):
        found = list(explained(seen, 5, ("decoder", "logits", "target"), step=step))
        wrong = [(one.address, one.value, one.recorded) for one in found if abs(one.value - one.recorded) > 2e-5]
        assert wrong == []


@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("name", ["pre-norm", "post-norm", "rms, gated, grouped, wide"])
def test_what_is_printed_is_the_models_number_to_a_unit_of_its_last_digit(name, digits):
    for one in explained(watched(MODELS[name]()), 3):
        printed = float(one.text(digits).rpartition("= ")[2].replace("−", "-"))
        assert abs(printed - one.recorded) <= 10**-digits, one.address


def test_a_score_by_hand():
    line = Dot(Name("score[2, 3]", "s_{2,3}"), [0.31, -0.2], [0.12, 0.5], 0.125, [Addend("position", -0.5)])
    assert line.value == pytest.approx((0.31 * 0.12 - 0.2 * 0.5) * 0.125 - 0.5)
    assert line.text(Style(2)) == "score[2, 3] = (0.31·0.12 + (-0.20)·0.50)·0.12 + (-0.50) = -0.51"
    assert line.text(Style(2, latex=True)) == (
        r"s_{2,3} = (0.31 \cdot 0.12 + (-0.20) \cdot 0.50) \cdot 0.12 + (-0.50) = -0.51"
    )


def test_a_long_sum_shows_its_first_terms_and_its_last():
    line = Dot(Name("x", "x"), [1.0] * 20, [float(n) for n in range(20)])
    assert line.value == 190
    assert line.text(Style(0)) == "x = 1·0 + 1·1 + 1·2 + 1·3 + 1·4 + … + 1·19 = 190"


def test_a_softmax_by_hand():
    line = Softmax(Name("w", "w"), [1.0, 2.0, 9.0], [True, True, False], 0)
    assert line.value == pytest.approx(1 / (1 + math.e))
    assert line.text(Style(2)) == "w = (e^(-1.00)) / 1.37 = 0.27"
    forbidden = Softmax(Name("w", "w"), [1.0, 2.0, 9.0], [True, True, False], 2)
    assert forbidden.text(Style(2)) == "w = (e^-∞) / 1.37 = 0.00"
    assert Softmax(Name("w", "w"), [1.0], [False], 0).value == 0


def test_a_norm_by_hand():
    line = Normed(Name("n", "n"), 3.0, 1.0, 3.99, 0.01, 0.5, 0.25)
    assert line.value == pytest.approx(0.75)
    assert line.text(Style(2)) == "n = (3.00 - 1.00) / 2.00·0.50 + 0.25 = 0.75"


def test_a_turned_pair_by_hand():
    first, second = (Turned(Name("q", "q"), 1.0, 2.0, 0.0, 1.0, is_first) for is_first in (True, False))
    assert (first.value, second.value) == (-2.0, 1.0)


@pytest.mark.parametrize("function", ["relu", "gelu", "gelu-tanh", "swish", "tanh"])
def test_functions_are_pytorchs(function):
    from prosector.blocks.feed_forward import ACTIVATIONS

    theirs = ACTIVATIONS | {"tanh": torch.tanh}
    for x in (-3.0, -0.4, 0.0, 0.7, 2.5):
        wanted = theirs[function](torch.tensor(x, dtype=torch.float64)).item()
        assert Function(Name("f", "f"), function, x).value == pytest.approx(wanted, abs=1e-12)


def test_as_markdown_it_is_formulas_under_the_address():
    text = explain_value(watched(translator()), "decoder.0.cross.weights", head=1, row=2, column=1).markdown(2)
    assert text.startswith("`decoder.0.cross.weights`\n\n$$\\alpha_{2,1} = \\frac{e^{")
    assert re.search(r"= 0\.\d\d\$\$$", text)


@pytest.mark.parametrize(
    ("address", "place", "error", "says"),
    [
        ("decoder.0.cross.weights", {"head": 2}, IndexError, r"is \[2, 3, 4\] here, and \[2, 0, 0\]"),
        ("decoder.0.nothing", {}, KeyError, "nothing was seen at 'decoder.0.nothing'"),
    ],
)
def test_what_cannot_be_explained_says_so(address, place, error, says):
    with pytest.raises(error, match=says):
        explain_value(watched(translator()), address, **place)


def test_what_was_not_recorded_is_named():
    with torch.no_grad(), observe(model := translator(), keep=["*.scores"]) as seen:
        model(SRC, TGT)
    with pytest.raises(KeyError, match=r"encoder\.0\.attention\.query"):
        explain_value(seen, "encoder.0.attention.scores")
