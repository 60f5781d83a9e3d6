"""Where the norm stands, by hand."""

import pytest
import torch

from prosector.blocks import PostNorm, PreNorm


def double(x):
    return 2 * x


class Minus(torch.nn.Module):
    """A norm that one can follow in one's head: less one."""

    def forward(self, x, real):
        return x - 1


def test_post_norm_norms_the_sum():
    """norm(x + sublayer(x)) = (5 + 2·5) - 1"""
    assert PostNorm(0.0)(torch.tensor(5.0), double, Minus(), None) == 14


def test_pre_norm_norms_what_goes_into_the_sublayer():
    """x + sublayer(norm(x)) = 5 + 2·(5 - 1)"""
    assert PreNorm(0.0)(torch.tensor(5.0), double, Minus(), None) == 13


@pytest.mark.parametrize("residual", [PreNorm, PostNorm])
def test_what_is_dropped_is_the_sublayers_part_and_never_the_path_beside_it(residual):
    x = torch.full((1000,), 5.0)
    y = residual(0.5).train()(x, double, Minus(), None)
    beside, part = (5.0, 8.0) if residual is PreNorm else (4.0, 10.0)
    assert y.unique().tolist() == [beside, beside + 2 * part]  # dropped, or kept and doubled
    assert residual(0.5).eval()(x, double, Minus(), None).unique().tolist() == [beside + part]


@pytest.mark.parametrize("residual", [PreNorm, PostNorm])
def test_the_norm_is_told_which_tokens_are_real(residual):
    told = []

    class Listening(torch.nn.Module):
        def forward(self, x, real):
            told.append(real)
            return x

    real = torch.tensor([[True, False]])
    residual(0.0)(torch.ones(1, 2, 3), double, Listening(), real)
    assert len(told) == 1
    assert told[0] is real
