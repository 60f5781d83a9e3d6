"""The formulas of what a Transformer costs equal what PyTorch counts."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from prosector.config.transformer import TransformerConfig
from prosector.evaluation import cost

CONFIGS = {
    "plain": {},
    "grouped queries": {"n_kv_heads": 2},
    "wide heads, gated": {"d_head": 24, "activation": "swiglu", "bias": False},
    "untied": {"tie": "none"},
    "one table": {"tie": "all", "target_vocab": 90},
}
SOURCE, TARGET = 11, 7


def config_of(name):
    fields = {"source_vocab": 90, "target_vocab": 70, "d_model": 32, "n_heads": 4, "d_ff": 48, "tie": "target"}
    return TransformerConfig(
        **fields | {"encoder_layers": 2, "decoder_layers": 3, "kernel": "written-out"} | CONFIGS[name]
    )


def counted(compute):
    with FlopCounterMode(display=False) as counter:
        compute()
    return counter.get_total_flops()


@pytest.mark.parametrize("name", CONFIGS)
def test_operations_are_those_that_pytorch_counts(name):
    config = config_of(name)
    model = config.build().eval()
    src, tgt = torch.randint(4, 70, (1, SOURCE)), torch.randint(4, 70, (1, TARGET))
    forward = cost.encoder_operations(config, SOURCE) + cost.decoder_operations(config, SOURCE, TARGET)
    with torch.no_grad():
        assert counted(lambda: model.encode(src)) == cost.encoder_operations(config, SOURCE)
        assert counted(lambda: model(src, tgt)) == forward
    trained = counted(lambda: model(src, tgt).sum().backward())
    assert trained == pytest.approx(cost.training_operations(config, SOURCE, TARGET), rel=0.01)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_with_a_cache_costs_what_pytorch_counts(name):
    config = config_of(name)
    model = config.build().eval()
    src, tgt = torch.randint(4, 70, (1, SOURCE)), torch.randint(4, 70, (1, TARGET))
    with torch.no_grad():
        memory, cache = model.encode(src), model.new_cache()
        model.decode(tgt, memory, cache=cache)
        step = counted(lambda: model.logits(model.decode(tgt[:, :1], memory, cache=cache)))
    assert step == cost.step_operations(config, SOURCE, TARGET)


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_are_counted_but_for_biases_and_norms(name):
    config = config_of(name)
    found = sum(weight.numel() for weight in config.build().parameters() if weight.ndim == 2)
    assert cost.weights(config).all == found


KEPT = {
    "plain": {},
    "long": {"rows": 2, "length": 200},
    "gelu, before norms": {"activation": "gelu", "norm_placement": "pre"},
    "gated, grouped queries": {"activation": "swiglu", "bias": False, "n_kv_heads": 2},
    "nothing dropped": {"dropout": 0.0},
}


@pytest.mark.parametrize("name", KEPT)
def test_what_a_training_step_keeps_is_what_pytorch_saves_for_the_way_back(name):
    fields = {"tie": "all", "d_model": 64, "n_heads": 4, "d_ff": 128, "kernel": "written-out"} | KEPT[name]
    rows, length = fields.pop("rows", 16), fields.pop("length", 24)
    config = TransformerConfig(**fields)
    model = config.build().train()
    weights = {weight.data_ptr() for weight in model.parameters()}
    kept = {}

    def keep(x):
        room = x.untyped_storage()
        if room.data_ptr() not in weights:
            kept[room.data_ptr()] = room.nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        hidden = model.hidden(*torch.randint(4, 8000, (2, rows, length)).unbind())
    del hidden
    assert sum(kept.values()) == pytest.approx(
        cost.training_bytes(config, rows * length, length)["activations"], rel=0.1
    )


def test_a_small_translator_by_hand():
    """d 4, one head, ff 8, one layer a side, 10 words; a source of 3, a target of 2."""
    config = TransformerConfig(
        source_vocab=10, target_vocab=10, d_model=4, n_heads=1, d_ff=8, encoder_layers=1, decoder_layers=1, tie="target"
    )
    assert cost.weights(config) == (80, 4 * 16 + 64, 8 * 16 + 64, 40)
    assert cost.encoder_operations(config, 3) == 3 * 2 * 128 + 4 * 4 * 9
    assert cost.decoder_operations(config, 3, 2) == 2 * 2 * (192 - 32) + 2 * 3 * 32 + 4 * 4 * 2 * 5 + 2 * 2 * 40
    assert cost.cache_bytes(config, 3, 2) == 2 * 4 * 5 * 4
    assert cost.step_bytes(config, 3, 1, rows=6) == 200 + 6 * 160


def test_a_step_is_bound_by_reading_for_one_row_and_by_computing_for_many():
    config = TransformerConfig()
    machine = cost.Machine(operations=1e12, bytes=1e11)
    alone, many = (cost.step_seconds(config, machine, 25, 12, rows) for rows in (1, 512))
    assert alone == cost.step_bytes(config, 25, 12, 1) / machine.bytes
    assert many == 512 * cost.step_operations(config, 25, 12) / machine.operations
