"""The Transformer as a whole: its first loss, its shapes, its shared tables, and what it refuses."""

import math

import pytest
import torch
from pydantic import ValidationError
from tests.helpers import POSITIONS, TINY, sentences, tiny

from prosector.blocks import PAD
from prosector.config.run import explain
from prosector.config.special import SpecialIds
from prosector.config.transformer import TransformerConfig
from prosector.text import special
from prosector.training.loss import label_smoothed_cross_entropy

every_position = pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)


@pytest.mark.parametrize("placement", ["pre", "post"])
@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("d_model, vocab", [(64, 500), (256, 4000)])
def test_before_training_every_word_is_as_likely_as_another(tie, placement, d_model, vocab):
    """The first loss is within 5 % of ln V: not a bit of what training learns has to be unlearned first."""
    fields = {"d_model": d_model, "d_ff": 2 * d_model, "source_vocab": vocab, "target_vocab": vocab}
    model = TransformerConfig(**fields, encoder_layers=2, decoder_layers=2, tie=tie, norm_placement=placement).build()
    tgt = sentences(8, 17, vocab)
    with torch.no_grad():
        logits = model(sentences(8, 12, vocab), tgt[:, :-1])
    assert label_smoothed_cross_entropy(logits, tgt[:, 1:]).item() == pytest.approx(math.log(vocab), rel=0.05)


@pytest.mark.parametrize("first_version", [True, False])
def test_t5_begins_there_too(first_version):
    """Its scores are not scaled, and its first version has one table for all and divides by √d instead."""
    fields = {"norm": "rms", "bias": False, "attention_scale": 1.0, "position": "t5", "scale_embedding": False}
    fields |= {"tie": "all", "scale_output": True} if first_version else {"tie": "none", "activation": "geglu"}
    vocabularies = {"source_vocab": 1000, "target_vocab": 1000}
    model = TransformerConfig(**fields, **vocabularies, d_model=64, n_heads=4, d_ff=128, encoder_layers=2).build()
    tgt = sentences(8, 17, 1000)
    with torch.no_grad():
        logits = model(sentences(8, 12, 1000), tgt[:, :-1])
    assert label_smoothed_cross_entropy(logits, tgt[:, 1:]).item() == pytest.approx(math.log(1000), rel=0.05)


@pytest.mark.parametrize("source_length", [1, 3, 9])
@pytest.mark.parametrize("target_length", [1, 5])
def test_for_every_source_the_output_is_as_long_as_the_target(source_length, target_length):
    model = tiny()
    assert model.encode(sentences(2, source_length)).shape == (2, source_length, 16)
    assert model(sentences(2, source_length), sentences(2, target_length)).shape == (2, target_length, 19)


# --- tables that are one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tie, n_tables", [("none", 3), ("target", 2), ("all", 1)])
def test_tied_tables_are_one_parameter(tie, n_tables):
    model = tiny(tie=tie, source_vocab=19)
    tables = [model.source_embedding.weight, model.target_embedding.weight, model.output.weight]
    assert len({id(table) for table in tables}) == n_tables
    counted = [name for name, parameter in model.named_parameters() if parameter.shape == (19, 16)]
    assert len(counted) == n_tables


@pytest.mark.parametrize("tie", ["target", "all"])
def test_tied_tables_are_trained_as_one(tie):
    """One step moves the table by the sum of what its places want, and it is still one."""
    tied, free = tiny(tie=tie, source_vocab=19), tiny(tie="none", source_vocab=19)
    free.load_state_dict(tied.state_dict())
    src, tgt = sentences(2, 4), sentences(2, 5)
    for model in (tied, free):
        model(src, tgt).square().mean().backward()
    shared = [free.target_embedding, free.output] + [free.source_embedding] * (tie == "all")
    wanted = sum(module.weight.grad for module in shared)
    torch.testing.assert_close(tied.target_embedding.weight.grad, wanted, rtol=0, atol=1e-12)

    torch.optim.SGD(tied.parameters(), lr=0.1).step()
    assert tied.output.weight is tied.target_embedding.weight
    assert (tied.source_embedding.weight is tied.output.weight) == (tie == "all")


# --- configs that cannot be ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields, says",
    [
        ({"norm": "layr"}, ["norm", "'layr'", "'layer', 'rms' or 'batch'"]),
        ({"norm_placement": "middle"}, ["norm_placement", "'middle'", "'pre' or 'post'"]),
        ({"activation": "tanh"}, ["activation", "'tanh'", "'relu', 'gelu', 'gelu-tanh', 'swish', 'swiglu' or 'geglu'"]),
        ({"tie": "source"}, ["tie", "'source'", "'none', 'target' or 'all'"]),
        ({"kernel": "flash"}, ["kernel", "'flash'", "'sdpa', 'written-out', 'blockwise' or 'flex'"]),
        (
            {"position": "ropes"},
            ["position", "'ropes'", "none, binary, one-hot, sinusoidal, learned, rope"],
        ),
        ({"kind": "gpt"}, ["kind", "'gpt'", "'transformer'"]),
        ({"d_modle": 8}, ["d_modle", "not a key"]),
        ({"encoder_layers": 0}, ["encoder_layers", "0", "greater than 0"]),
        ({"source_vocab": 4}, ["source_vocab", "4", "greater than 4"]),
        ({"d_model": "wide"}, ["d_model", "'wide'", "integer"]),
        ({"dropout": 1.0}, ["dropout", "1.0", "less than 1"]),
        ({"attention_dropout": -0.1}, ["attention_dropout", "-0.1", "greater than or equal to 0"]),
        ({"d_model": 10, "n_heads": 4}, ["d_model=10", "n_heads=4", "does not divide"]),
        ({"n_heads": 4, "n_kv_heads": 3}, ["n_heads=4", "n_kv_heads=3", "not a multiple"]),
        ({"tie": "all", "source_vocab": 9}, ['tie="all"', "9 and 19", 'use tie="target"']),
    ],
)
def test_a_wrong_config_is_one_line_that_names_the_key_the_value_and_what_is_allowed(fields, says):
    with pytest.raises(ValidationError) as error:
        TransformerConfig(**TINY | fields)
    line = explain(error.value, "mine.toml")
    assert "\n" not in line
    assert all(part in line for part in says), line


def test_a_head_that_cannot_turn_is_an_error_when_the_model_is_built():
    with pytest.raises(ValueError, match="d_head must be even; it is 5"):
        tiny(position="rope", d_head=5)


def test_a_text_longer_than_the_learned_table_is_an_error_that_names_the_end():
    model = tiny(position={"kind": "learned", "max_length": 4})
    with pytest.raises(ValueError, match="position 4 is outside 0 to 3"):
        model(sentences(1, 5), sentences(1, 2))


def test_a_config_does_not_change_once_it_is_made():
    with pytest.raises(ValidationError, match="frozen"):
        TransformerConfig().d_model = 3


@every_position
def test_for_every_position_a_config_written_down_builds_the_same_model(position):
    config = TransformerConfig(**TINY, position=position)
    again = TransformerConfig.model_validate_json(config.model_dump_json())
    assert again == config
    torch.manual_seed(0)
    first = config.build().state_dict()
    torch.manual_seed(0)
    second = again.build().state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


# --- the ways it can be built ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"n_kv_heads": 1},
        {"n_kv_heads": 2, "d_head": 6},
        {"activation": "swiglu", "bias": False, "norm": "rms"},
        {"activation": "gelu", "norm": "batch", "norm_placement": "post"},
        {"final_norm": False},
        {"final_norm": True, "norm_placement": "post"},
        {"kernel": "written-out", "attention_dropout": 0.1, "dropout": 0.1},
    ],
)
def test_whatever_it_is_built_of_it_learns_a_pair_by_heart(fields):
    model = tiny(torch.float32, encoder_layers=1, decoder_layers=1, **fields).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    src, tgt = sentences(2, 4), sentences(2, 6)
    losses = []
    for _ in range(25):
        loss = label_smoothed_cross_entropy(model(src, tgt[:, :-1]), tgt[:, 1:])
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    assert losses[-1] < losses[0] / 2


def test_a_final_norm_comes_with_pre_norm_unless_it_is_said_otherwise():
    assert tiny().decoder.final_norm is not None
    assert tiny(norm_placement="post").encoder.final_norm is None
    assert tiny(norm_placement="post", final_norm=True).encoder.final_norm is not None
    assert tiny(final_norm=False).decoder.final_norm is None


def test_without_dropout_training_and_evaluation_are_the_same():
    model = tiny()
    src, tgt = sentences(2, 4), sentences(2, 5)
    assert torch.equal(model.train()(src, tgt), model.eval()(src, tgt))


def test_dropout_repeats_with_the_seed():
    model = tiny(dropout=0.3).train()
    src, tgt = sentences(2, 4), sentences(2, 5)
    outputs = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        outputs.append(model(src, tgt))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


def test_the_model_and_the_tokenizers_agree_on_what_padding_is():
    """Models stand below text in the house and cannot import its constant."""
    assert PAD == special.PAD
    ours = SpecialIds()
    assert (ours.pad, ours.unk, ours.sos, ours.eos) == (special.PAD, special.UNK, special.SOS, special.EOS)
