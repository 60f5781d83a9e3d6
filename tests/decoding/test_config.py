"""The decoding config: what it means, and what it refuses."""

import pytest

from prosector.config.decoding import DecodingConfig, DecodingFields, decoding_from


@pytest.mark.parametrize(
    ("fields", "method", "size"),
    [
        ({}, "beam", 4),
        ({"beam": 1}, "greedy", 1),
        ({"beam": 8, "n_best": 8}, "beam", 8),
        ({"temperature": 0.7}, "sampling", 1),
        ({"top_k": 5}, "sampling", 1),
        ({"top_p": 0.9}, "sampling", 1),
        ({"seed": 0}, "sampling", 1),
    ],
)
def test_what_is_given_says_how_it_decodes(fields, method, size):
    config = DecodingConfig(**fields)
    assert (config.method, config.size) == (method, size)
    assert DecodingConfig(**config.model_dump()) == config


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"beam": 4, "temperature": 0.7}, ["beam=4", "temperature=0.7"]),
        ({"beam": 1, "top_k": 3, "seed": 2}, ["beam=1", "top_k=3, seed=2"]),
        ({"n_best": 5}, ["n_best=5", "beam=4"]),
        ({"n_best": 2, "beam": 1}, ["n_best=2", "beam=1"]),
        ({"n_best": 2, "top_p": 0.5}, ["n_best=2", "top_p=0.5"]),
        ({"beam": 0}, ["beam", "0"]),
        ({"alpha": -1}, ["alpha", "-1"]),
        ({"alpha": float("inf")}, ["alpha", "inf"]),
        ({"temperature": 0}, ["temperature", "0"]),
        ({"top_p": 1.5}, ["top_p", "1.5"]),
        ({"max_length": 0}, ["max_length", "0"]),
        ({"beams": 4}, ["beams"]),
    ],
)
def test_what_is_impossible_is_named(fields, named):
    with pytest.raises(ValueError, match="decoding: ") as refused:
        decoding_from(None, fields)
    assert "\n" not in str(refused.value)
    for name in named:
        assert name in str(refused.value)


def test_fields_change_a_config():
    config = DecodingConfig(beam=8, n_best=3)
    assert decoding_from(config, {"n_best": 8}) == DecodingConfig(beam=8, n_best=8)
    assert decoding_from(config, {}) == config
    with pytest.raises(ValueError, match="n_best=3 is more than beam=2"):
        decoding_from(config, {"beam": 2})


def test_every_field_can_be_given_by_name():
    assert DecodingFields.__annotations__.keys() == DecodingConfig.model_fields.keys()
