"""Layer norm and batch norm on the same numbers: along the rows, and down the columns."""

import pytest
import torch

from prosector.blocks import BatchNorm, LayerNorm, RMSNorm

X = torch.tensor([[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]])


def test_layer_norm_looks_along_each_row():
    """Row 1: mean 2.5, variance (2.25 + 0.25 + 0.25 + 2.25) / 4 = 1.25, so (1 - 2.5) / √1.25 = -1.342, …"""
    row = pytest.approx([-1.342, -0.447, 0.447, 1.342], abs=5e-4)
    assert LayerNorm(4)(X[None])[0].tolist() == [row, row, row]


def test_batch_norm_looks_down_each_column():
    """Column 1: mean 5, variance (16 + 0 + 16) / 3 = 10.67, so (1 - 5) / √10.67 = -1.225, 0, 1.225."""
    first, second, third = (pytest.approx([value] * 4, abs=5e-4) for value in (-1.225, 0.0, 1.225))
    assert BatchNorm(4).train()(X[:, None])[:, 0].tolist() == [first, second, third]


def test_padding_has_no_part_in_the_columns():
    """If the third row is padding, column 1 has mean 3 and variance 4: (1 - 3) / 2 = -1 and (5 - 3) / 2 = 1."""
    real = torch.tensor([[True, True, False]])
    normal = BatchNorm(4).train()(X[None], real)[0]
    assert normal[:2].tolist() == [pytest.approx([-1.0] * 4, abs=1e-4), pytest.approx([1.0] * 4, abs=1e-4)]


def test_rms_norm_leaves_the_mean_alone():
    """Row 1: √((1 + 4 + 9 + 16) / 4) = 2.739, so 1 / 2.739 = 0.365, …"""
    assert RMSNorm(4)(X[None])[0, 0].tolist() == pytest.approx([0.365, 0.730, 1.095, 1.461], abs=5e-4)
