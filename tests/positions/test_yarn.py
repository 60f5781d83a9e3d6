"""YaRN: fast pairs keep their speed, slow ones are slowed down, and scores are sharpened."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import RotaryPosition, YarnPosition, yarn_attention_factor, yarn_inverse_frequencies


@pytest.mark.parametrize("case", [0, 1, 2])
def test_frequencies_and_factor_are_those_of_transformers(golden, case):
    reference = golden["yarn"][case]
    yarn = YarnPosition(
        reference["head_dim"],
        reference["theta"],
        factor=reference["factor"],
        original_max_positions=reference["original_max_position_embeddings"],
        **reference["given"],
    )
    frequencies = yarn.frequencies(torch.float32, torch.device("cpu")).tolist()
    assert frequencies == pytest.approx(reference["inv_freq"], rel=1e-6)
    assert yarn.attention_factor == pytest.approx(reference["attention_factor"], rel=1e-12)


def test_the_ramp_of_sixteen_features_over_512_positions():
    """32 turns in 512 positions fall on pair 0.8, 1 turn on pair 3.8: the ramp is 0, 1/4, 1/2, 3/4, 1, 1, 1, 1.

    So at factor 8 the pairs keep 1, 3/4 + 1/4 · 1/8, 1/2 + 1/2 · 1/8, 1/4 + 3/4 · 1/8 and 1/8 of their speed.
    """
    frequencies = yarn_inverse_frequencies(16, 10000.0, 8.0, 512, dtype=torch.float64)
    kept = [float(f) * 10000 ** (2 * j / 16) for j, f in enumerate(frequencies)]
    assert kept == pytest.approx([1, 0.78125, 0.5625, 0.34375, 0.125, 0.125, 0.125, 0.125])


@pytest.mark.parametrize("d_head, length", [(16, 16), (128, 4)])
def test_within_a_short_text_all_but_the_first_pair_are_slow(d_head, length):
    """In 16 positions the first pair turns 2.5 times, in 4 not even once: the ramp is 0, 1, 1, …"""
    frequencies = yarn_inverse_frequencies(d_head, 10000.0, 8.0, length, dtype=torch.float64)
    kept = [float(f) * 10000 ** (2 * j / d_head) for j, f in enumerate(frequencies)]
    assert kept == pytest.approx([1] + [0.125] * (d_head // 2 - 1))


@given(st.integers(1, 64), st.floats(1, 64), st.sampled_from([4, 16, 512, 4096]), st.sampled_from([100.0, 1e4, 1e6]))
def test_for_every_pair_the_speed_lies_between_its_own_and_the_stretched_one(half, factor, length, theta):
    frequencies = yarn_inverse_frequencies(2 * half, theta, factor, length, dtype=torch.float64)
    own = torch.tensor([theta ** (-j / half) for j in range(half)], dtype=torch.float64)
    assert (frequencies <= own * (1 + 1e-12)).all()
    assert (frequencies >= own / factor * (1 - 1e-12)).all()


def test_queries_and_keys_are_both_multiplied():
    """Factor e makes the attention factor 0.1 · 1 + 1 = 1.1; lengths grow by it, and a score by 1.21."""
    query, key = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    yarn = YarnPosition(8, factor=math.e)
    turned_query, turned_key = yarn.rotate(query, key, torch.tensor([7]), torch.tensor([7]))
    assert yarn_attention_factor(math.e) == pytest.approx(1.1)
    assert float(turned_query.norm() / query.norm()) == pytest.approx(1.1)
    assert float(turned_key.norm() / key.norm()) == pytest.approx(1.1)
    assert float((turned_query * turned_key).sum()) == pytest.approx(1.21 * float((query * key).sum()))


def test_not_stretched_it_is_rope():
    query, key = torch.randn(2, 1, 2, 5, 8)
    query, key = query[None], key[None]
    far = torch.arange(5) * 100
    for mine, theirs in zip(
        YarnPosition(8, factor=1.0).rotate(query[0], key[0], far, far),
        RotaryPosition(8).rotate(query[0], key[0], far, far),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs)


def test_mscale_sharpens_and_mscale_all_dim_takes_back():
    """Factor e: (0.1 · 2 + 1) / (0.1 · 1 + 1) = 1.2 / 1.1."""
    assert yarn_attention_factor(math.e, mscale=2.0, mscale_all_dim=1.0) == pytest.approx(1.2 / 1.1)


def test_a_given_attention_factor_is_taken():
    assert YarnPosition(8, attention_factor=1.5).attention_factor == 1.5


@pytest.mark.parametrize(
    "given, message",
    [
        ({"mscale": 1.0}, "mscale is 1.0 and mscale_all_dim None; .*give both or neither"),
        ({"beta_fast": 1.0, "beta_slow": 2.0}, r"beta_fast is 1.0, which must be above beta_slow, 2.0"),
        ({"attention_factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}, "give one or the other"),
    ],
)
def test_what_contradicts_itself_is_an_error(given, message):
    with pytest.raises(ValueError, match=message):
        YarnPosition(8, **given)
