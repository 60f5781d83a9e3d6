"""Every number of a run is what its written-out calculation gives, for every step, position and model."""

import math
import re

import pytest
import torch
from tests.observe.models import (
    KINDS,
    SRC,
    TGT,
    attention_unet,
    conv_transformer,
    reader,
    recurrent,
    recurrent_with_attention,
    run_whole,
    translator,
    unet,
    vit,
    watched,
    writer,
)

from prosector import nn
from prosector.decoding import beam_search
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
    "a reader": reader,
    "a reader with a norm at the beginning": lambda: reader(norm_placement="post", embedding_norm=True),
    "a ViT": vit,
    "a ViT of patches alone": lambda: vit(pooling="mean", position="rope", kernel="written-out"),
    "convolutions and attention": conv_transformer,
}
OTHERS = {
    "LSTM": recurrent,
    "GRU": lambda: recurrent(cell="gru"),
    "LSTM, context once": lambda: recurrent(context_at_every_step=False, layers=1),
    "LSTM with attention": recurrent_with_attention,
    "GRU with attention": lambda: recurrent_with_attention(cell="gru", decoder_layers=1),
    "U-Net": unet,
    "U-Net, group norm": lambda: unet(norm="group", channels=16),
    "U-Net, no norm": lambda: unet(norm="none"),
    "attention U-Net": attention_unet,
}
UNEXPLAINED = ("recomputed", "positions", "pictures")


def explained_at_all_steps(seen, every=3):
    """Some numbers of every address at every step, which in a recurrent network is a token."""
    for address in seen:
        for step in range(len(seen.steps(address))):
            yield from explained(seen, every, address, step=step)


def explained(seen, every=4, beginnings=("",), **step):
    """Some numbers of each address that begins so, with their explanations."""
    for address in seen:
        if address.endswith(UNEXPLAINED) or not matches(address, beginnings):
            continue
        value = seen.steps(address)[step.get("step", -1)]
        for batch in range(len(value)):
            places = torch.cartesian_prod(*map(torch.arange, value.shape[1:])).reshape(-1, value.ndim - 1)
            for place in places[:: max(1, len(places) // every)].tolist():
                names = ("head", "row", "column")[-len(place) :]
                yield explain_value(seen, address, batch=batch, **dict(zip(names, place, strict=True)), **step)


def matches(address, wanted):
    """Whether it is that address, or begins with one of several."""
    return address == wanted if isinstance(wanted, str) else address.startswith(wanted)


@pytest.mark.parametrize("name", MODELS)
def test_every_number_is_what_its_calculation_gives(name):
    found = list(explained(watched(MODELS[name]())))
    assert len({explanation.address for explanation in found}) >= 30
    wrong = [(one.address, one.value, one.recorded) for one in found if abs(one.value - one.recorded) > 2e-5]
    assert wrong == []


@pytest.mark.parametrize("name", OTHERS)
def test_so_it_is_in_recurrent_networks_at_every_step_and_in_pictures(name):
    found = list(explained_at_all_steps(watched(OTHERS[name]())))
    assert len({explanation.address for explanation in found}) >= 14
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


@pytest.mark.parametrize("name", ["LSTM", "GRU with attention"])
def test_in_decoding_step_by_step_recurrent_networks_too(name):
    model = OTHERS[name]()
    with torch.no_grad(), observe(model) as seen:
        memory, cache = model.encode(SRC), model.new_cache()
        for token in TGT.unbind(1):
            model.logits(model.decode(token[:, None], memory, SRC != 0, cache)[:, -1])  # as a search asks for them
    wrong = [(one.address, one.value, one.recorded) for one in explained_at_all_steps(seen) if not is_right(one)]
    assert wrong == []


def is_right(one, within=2e-5):
    """Whether a calculation gives the model's number."""
    return abs(one.value - one.recorded) <= within


@pytest.mark.parametrize("name", ["pre-norm", "swish, rope", "alibi"])
def test_in_beam_search_every_number_is_explained_or_said_not_to_be(name):
    """What a step computes from its own row is explained; keys of earlier steps may have stood in other rows."""
    model = MODELS[name]()
    with torch.no_grad(), observe(model) as seen:
        beam_search(model, SRC, 4, beam=3)
    last, refused = len(seen.steps("logits")) - 1, {}
    for address in seen:
        if address.endswith(UNEXPLAINED) or not address.startswith(("decoder", "logits", "target")):
            continue
        for batch in range(len(seen.steps(address)[last])):
            try:
                assert is_right(explain_value(seen, address, batch=batch, column=1, step=last))
            except ValueError as error:
                refused[address.rsplit(".", 1)[-1]] = str(error)
    assert refused.keys() <= {"key", "value"}
    assert all("beam search" in says for says in refused.values())


@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_printed_is_the_models_number_to_a_unit_of_its_last_digit(kind, digits):
    for one in explained_at_all_steps(watched(KINDS[kind][0]()), 2):
        for text in (one.text(digits), one.markdown(digits).removesuffix("$$")):
            printed = float(text.rpartition("= ")[2])
            assert abs(printed - one.recorded) <= 10**-digits, one.address


@pytest.mark.parametrize(
    "change",
    [
        lambda seen: seen.remove_head("*attention", 0),
        lambda seen: seen.set_mask("decoder.*.self", None),
        lambda seen: seen.swap_positions("*coder", 0, 2),
        lambda seen: seen.remove_positions("decoder"),
        lambda seen: seen.edit("encoder.1.norm1", torch.zeros_like),
    ],
)
@pytest.mark.parametrize("name", ["pre-norm", "swish, rope", "alibi", "t5"])
def test_in_an_edited_run_only_the_edited_numbers_are_not_explained(name, change):
    model = MODELS[name]()
    with torch.no_grad(), observe(model) as seen:
        change(seen)
        model(SRC, TGT)
    refused = {}
    for address in seen:
        if not address.endswith(UNEXPLAINED):
            try:
                assert is_right(explain_value(seen, address, row=1, column=1))
            except ValueError as error:
                refused[address] = str(error)
    assert refused.keys() <= {address for address in seen if seen.is_edited(address)}
    assert all("it was edited" in says for says in refused.values())


@pytest.mark.parametrize("kind", KINDS)
def test_in_bf16_it_is_the_same_within_that_types_rounding(kind):
    make, inputs = KINDS[kind]
    model = make().bfloat16()
    with torch.no_grad(), observe(model) as seen:
        run_whole(model, *(each.bfloat16() if each.is_floating_point() else each for each in inputs))
    assert len(list(explained(seen, 2))) > 20


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


@pytest.mark.parametrize("function", ["relu", "gelu", "gelu-tanh", "swish", "tanh", "sigmoid"])
def test_functions_are_pytorchs(function):
    from prosector.blocks.feed_forward import ACTIVATIONS

    theirs = ACTIVATIONS | {"tanh": torch.tanh, "sigmoid": torch.sigmoid}
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
        ("decoder.0.cross.weights", {"step": 1}, IndexError, "was seen 1 times, and step 1 was asked for"),
        ("encoder.positions", {}, ValueError, "encoder.positions was given to the model, and no calculation made it"),
        ("encoder.0.attention.recomputed", {}, ValueError, "encoder.0.attention.recomputed is no value of the model"),
    ],
)
def test_what_cannot_be_explained_says_so(address, place, error, says):
    with pytest.raises(error, match=says):
        explain_value(watched(translator()), address, **place)


@pytest.mark.parametrize(
    ("model", "address", "says"),
    [
        (unet(), "pictures", "pictures was given to the model"),
        (translator(norm="batch"), "encoder.0.norm1", "encoder.0.norm1 is a batch norm"),
    ],
)
def test_what_no_calculation_of_this_run_made_says_so(model, address, says):
    with pytest.raises(ValueError, match=says):
        explain_value(watched(model), address)


def test_how_another_module_computes_is_not_known():
    model = nn.TransformerEncoderLayer(8, 2, 8, batch_first=True).eval()
    with torch.no_grad(), observe(model) as seen:
        model(torch.randn(1, 3, 8))
    with pytest.raises(ValueError, match=r"how attended came about is not known here"):
        explain_value(seen, "attended")


def test_what_was_not_recorded_is_named():
    with torch.no_grad(), observe(model := translator(), keep=["*.scores"]) as seen:
        model(SRC, TGT)
    with pytest.raises(KeyError, match=r"encoder\.0\.attention\.query"):
        explain_value(seen, "encoder.0.attention.scores")
