"""One-hot positions: a feature a position."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.positions import OneHotPosition, one_hot


def test_position_n_adds_one_to_feature_n():
    marked = OneHotPosition().embed(torch.full((1, 3, 4), 0.5), torch.arange(3))
    assert marked[0].tolist() == [[1.5, 0.5, 0.5, 0.5], [0.5, 1.5, 0.5, 0.5], [0.5, 0.5, 1.5, 0.5]]


@given(st.integers(2, 9).flatmap(lambda d: st.tuples(st.just(d), st.integers(0, d - 1), st.integers(0, d - 1))))
def test_for_every_two_positions_the_codes_are_at_right_angles(case):
    d, m, n = case
    one, other = one_hot(torch.tensor([m, n]), d)
    assert one @ other == (1 if m == n else 0)
    assert one.sum() == 1


@pytest.mark.parametrize("position", [-1, 4])
def test_a_position_beyond_the_features_is_named(position):
    with pytest.raises(ValueError, match=rf"position {position} is outside 0 to 3: .* 4 features"):
        OneHotPosition().embed(torch.zeros(1, 1, 4), torch.tensor([position]))
