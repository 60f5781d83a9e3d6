"""Taps in the whole model: recording changes no bit, and for every tap an edit arrives in the logits."""

import pytest
import torch
from tests.helpers import Watch, sentences, tiny, watching

FIELDS = [
    {"norm_placement": "pre"},
    {"norm_placement": "post", "norm": "rms", "position": "rope", "n_kv_heads": 2, "activation": "swiglu"},
    {"norm": "batch", "position": "t5"},
    {"kernel": "written-out", "position": "alibi", "dropout": 0.2, "attention_dropout": 0.2},
]


# Which encodings read the positions of the tokens that are new, and those of all keys.
READ = {"positions": ("sinusoidal", "rope", "t5"), "key_positions": ("t5",)}


def another(value):
    """Another value: positions are whole numbers, and are doubled."""
    return value + torch.rand_like(value) if value.is_floating_point() else 2 * value


def run(model, watch=None):
    torch.manual_seed(3)
    src, tgt = sentences(2, 4), sentences(2, 3)
    src[0, 3] = 0
    if watch is None:
        return model(src, tgt)
    with watching(watch):
        return model(src, tgt)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("fields", FIELDS)
def test_recording_changes_no_bit_of_outputs_gradients_and_statistics(fields, training):
    def bits(watch):
        torch.manual_seed(1)
        model = tiny(torch.float32, **fields).train(training)
        logits = run(model, watch)
        logits.square().sum().backward()
        return [logits, *(p.grad for p in model.parameters()), *model.buffers()]

    assert all(map(torch.equal, bits(None), bits(Watch())))


@pytest.mark.parametrize("fields", FIELDS[:3])
def test_for_every_tap_an_edit_arrives_in_the_logits(fields):
    model = tiny(**fields)
    recorded = Watch()
    plain = run(model, recorded)
    taps = dict.fromkeys((module, name) for module, name, _ in recorded.seen if name != "recomputed")
    addresses = {module: address for address, module in model.named_modules()}
    for module, name in taps:
        if name.endswith("positions") and not any(mark in fields.get("position", "sinusoidal") for mark in READ[name]):
            continue
        edited = run(model, Watch({(module, name): another}))
        assert not torch.allclose(edited, plain), f"{addresses[module]}.{name}"


def test_the_addresses_are_those_that_the_design_promises():
    model = tiny()
    watch = Watch()
    run(model, watch)
    names = {module: address for address, module in model.named_modules()}
    met = {f"{names[module]}.{name}".strip(".") for module, name, _ in watch.seen}
    promised = {"encoder.1.attention.scores", "encoder.1.attention.weights", "encoder.1.attention.heads"}
    promised |= {"decoder.0.self", "decoder.0.cross", "decoder.0.feed_forward.hidden", "decoder.0.norm1", "logits"}
    assert promised <= met
