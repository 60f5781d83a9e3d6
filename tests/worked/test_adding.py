"""Why adding a position to a word destroys neither: in many dimensions two directions hardly meet.

A linear map is shown sums x + p of words and sinusoidal positions, and asked for both. In 128 dimensions it finds them
without a mistake; in 8 it can only if there are few to tell apart.
"""

import pytest
import torch

from prosector.observe import linear_probe
from prosector.positions import sinusoid


def recovered(d, n_words, n_positions, held_out=0.5, seed=0):
    """The share of sums whose word, and whose position, a linear map finds that was fitted on others (or on all)."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(n_words, d, generator=generator, dtype=torch.float64)
    positions = sinusoid(torch.arange(n_positions), d).double()
    sums = (words[:, None] + positions[None]).flatten(0, 1)  # [W·P, d]
    labels = torch.cartesian_prod(torch.arange(n_words), torch.arange(n_positions))  # [W·P, 2]
    asked = torch.rand(len(sums), generator=generator) < held_out if held_out else None
    return [linear_probe(sums, label, asked) for label in labels.T]


def test_in_128_dimensions_word_and_position_are_both_found():
    assert recovered(128, n_words=50, n_positions=32) == [1.0, 1.0]


def test_in_8_dimensions_few_of_them_are():
    """Four words and four positions span seven dimensions, fifty and thirty-two far more than there are."""
    assert recovered(8, n_words=4, n_positions=4, held_out=0) == [1.0, 1.0]
    word, position = recovered(8, n_words=50, n_positions=32)
    assert word < 0.6
    assert position < 0.6


@pytest.mark.parametrize("d", [8, 128, 2048])
def test_two_random_directions_are_nearly_orthogonal_in_many_dimensions(d):
    """The cosine of two random vectors has mean 0 and standard deviation 1/√d: 0.35, 0.09, 0.02."""
    a, b = torch.randn(2, 4000, d, generator=torch.Generator().manual_seed(0)).unbind()
    cosines = torch.nn.functional.cosine_similarity(a, b)
    assert cosines.mean().item() == pytest.approx(0, abs=4 / (d * 4000) ** 0.5)
    assert cosines.std().item() == pytest.approx(d**-0.5, rel=0.06)
