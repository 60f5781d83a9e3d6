"""Configs of positions: one field swaps the encoding, and what is wrong is named."""

from typing import get_args

import pytest
import torch
from pydantic import ValidationError

from prosector import positions
from prosector.config import position as config
from prosector.config.base import Config
from prosector.config.position import PositionConfig

SIZES = {"d_model": 12, "n_heads": 3, "d_head": 4, "bidirectional": True}

CLASSES = {
    "none": positions.Position,
    "binary": positions.BinaryPosition,
    "one-hot": positions.OneHotPosition,
    "sinusoidal": positions.SinusoidalPosition,
    "learned": positions.LearnedPosition,
    "rope": positions.RotaryPosition,
    "yarn": positions.YarnPosition,
    "alibi": positions.AlibiPosition,
    "t5": positions.T5Position,
}


class Model(Config):
    position: PositionConfig = "sinusoidal"


def build(value, **sizes):
    return Model(position=value).position.build(**SIZES | sizes)


@pytest.mark.parametrize("kind", CLASSES)
def test_for_every_kind_its_name_alone_builds_it(kind):
    position = build(kind)
    assert type(position) is CLASSES[kind]

    x = position.embed(torch.zeros(2, 5, 12), torch.arange(5))
    query, key = position.rotate(torch.ones(2, 3, 5, 4), torch.ones(2, 1, 5, 4), torch.arange(5), torch.arange(5))
    bias = position.bias(torch.arange(5), torch.arange(5))
    assert x.shape == (2, 5, 12)
    assert query.shape == (2, 3, 5, 4)
    assert key.shape == (2, 1, 5, 4)
    assert bias is None or bias.shape == (1, 3, 5, 5)
    acts = [bool(x.any()), not torch.equal(query, torch.ones_like(query)), bias is not None]
    assert sum(acts) == (0 if kind == "none" else 1)


@pytest.mark.parametrize("kind", CLASSES)
def test_for_every_kind_what_is_written_reads_back(kind):
    model = Model(position=kind)
    assert Model.model_validate_json(model.model_dump_json()) == model
    assert Model(position=model.position) == model
    assert all(field.description for field in type(model.position).model_fields.values())


def test_the_kinds_are_those_that_are_built():
    assert tuple(CLASSES) == config.BUILT_IN
    assert get_args(config.Layout) == get_args(positions.Layout)


def test_fields_reach_what_they_build():
    assert build({"kind": "learned", "max_length": 7}).max_length == 7
    assert build({"kind": "sinusoidal", "layout": "half-split"}).layout == "half-split"
    rope = build({"kind": "rope", "theta": 500.0, "layout": "interleaved"})
    assert (rope.theta, rope.layout, rope.d_head) == (500.0, "interleaved", 4)
    yarn = build({"kind": "yarn", "factor": 8, "original_max_positions": 64, "beta_fast": 16, "attention_factor": 1.5})
    assert (yarn.factor, yarn.original_max_positions, yarn.beta_fast, yarn.attention_factor) == (8.0, 64, 16.0, 1.5)
    t5 = build({"kind": "t5", "num_buckets": 8, "max_distance": 20}, bidirectional=False)
    assert (t5.num_buckets, t5.max_distance, t5.bidirectional) == (8, 20, False)
    assert build("alibi", n_heads=6).n_heads == 6


def test_the_defaults_are_the_papers():
    assert Model().position.kind == "sinusoidal"
    assert build("sinusoidal").layout == "interleaved"
    assert build("learned").max_length == 512
    assert (build("rope").theta, build("rope").layout) == (10000.0, "half-split")
    assert (build("yarn").factor, build("yarn").original_max_positions) == (4.0, 512)
    assert (build("t5").num_buckets, build("t5").max_distance) == (32, 128)


@pytest.mark.parametrize(
    "value, message",
    [
        (
            "ropes",
            "unknown position 'ropes'; allowed are none, binary, one-hot, sinusoidal, learned, rope, yarn, alibi",
        ),
        ({"kind": ["rope"]}, r"unknown position \['rope'\]"),
        ({"theta": 5.0}, "a position needs a kind"),
        ({"kind": "rope", "thetta": 5.0}, r"position\.rope\.thetta\n +Extra inputs are not permitted"),
        ({"kind": "rope", "theta": 0}, r"position\.rope\.theta\n +Input should be greater than 1 .*input_value=0"),
        ({"kind": "rope", "layout": "half"}, "Input should be 'interleaved' or 'half-split' .*input_value='half'"),
        (
            {"kind": "learned", "max_length": 0},
            r"position\.learned\.max_length\n +Input should be greater than or equal",
        ),
        ({"kind": "yarn", "factor": 0.5}, "Input should be greater than or equal to 1 "),
        ({"kind": "yarn", "beta_slow": 40}, r"beta_fast \(32.0\) must be above beta_slow \(40.0\)"),
        ({"kind": "yarn", "mscale": 1.0}, "give both or neither"),
        ({"kind": "yarn", "attention_factor": 1, "mscale": 1, "mscale_all_dim": 1}, "give one or the other"),
        ({"kind": "t5", "num_buckets": 7}, "multiple of 2"),
        ({"kind": "t5", "max_distance": 16}, r"max_distance \(16\) must be above 16"),
        (5, "position"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(value, message):
    with pytest.raises(ValidationError, match=message):
        Model(position=value)


def test_an_odd_head_cannot_turn():
    with pytest.raises(ValueError, match="d_head must be even; it is 5"):
        build("rope", d_head=5)
