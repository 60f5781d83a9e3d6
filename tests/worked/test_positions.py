"""Positions as binary numbers, added to three vectors."""

import pytest
import torch

from prosector.positions import BinaryPosition


def test_001_010_011_are_added_to_three_vectors():
    """The first word gets 1 = 001, the second 2 = 010, the third 3 = 011."""
    x = torch.tensor([[[0.1, 0.2, 0.3], [0.4, 0.5, 0.6], [0.7, 0.8, 0.9]]])
    assert BinaryPosition().embed(x, torch.arange(3))[0].tolist() == [
        pytest.approx([0.1, 0.2, 1.3]),
        pytest.approx([0.4, 1.5, 0.6]),
        pytest.approx([0.7, 1.8, 1.9]),
    ]
