"""What came before the Transformer, worked by hand: additive attention, and the gate of Attention U-Net."""

import pytest
import torch

from prosector.attention.additive import additive_scores
from prosector.attention.functional import softmax_over_keys
from prosector.attention.gate import gate_coefficients


def test_additive_attention_over_two_words():
    """
    q = 1, keys 0 and -1, v = 2:
    e_1 = 2·tanh(1 + 0) = 2 · 0.7616 = 1.5232,  e_2 = 2·tanh(1 - 1) = 0
    α_1 = e^1.5232 / (e^1.5232 + e^0) = 4.5868 / 5.5868 = 0.8210,  α_2 = 0.1790
    """
    query, key = torch.tensor([[[1.0]]]), torch.tensor([[[0.0], [-1.0]]])
    scores = additive_scores(query, key, torch.tensor([2.0]))
    assert scores[0, 0].tolist() == pytest.approx([1.5232, 0.0], abs=5e-5)
    assert softmax_over_keys(scores)[0, 0].tolist() == pytest.approx([0.8210, 0.1790], abs=5e-5)


def test_the_context_is_a_weighted_sum():
    """0.8210 · (10, 0) + 0.1790 · (0, 10) = (8.210, 1.790)"""
    weights = softmax_over_keys(torch.tensor([[1.5232, 0.0]]))
    context = weights @ torch.tensor([[10.0, 0.0], [0.0, 10.0]])
    assert context[0].tolist() == pytest.approx([8.210, 1.790], abs=5e-4)


def test_two_features_of_the_small_network():
    """v·tanh(q + k) with q = (1, -1), k = (0, 2), v = (1, 3): tanh 1 + 3·tanh 1 = 4 · 0.7616 = 3.0464"""
    scores = additive_scores(torch.tensor([[[1.0, -1.0]]]), torch.tensor([[[0.0, 2.0]]]), torch.tensor([1.0, 3.0]))
    assert scores.item() == pytest.approx(3.0464, abs=5e-5)


def test_a_gate_at_four_places():
    """
    x = [[1, -2], [0, 3]], g = 1 everywhere, ψ = 2, b = -4:
    ReLU(x + g) = [[2, 0], [1, 4]],  2·that - 4 = [[0, -4], [-2, 4]]
    σ = [[0.5, 0.0180], [0.1192, 0.9820]]
    """
    x, g = torch.tensor([[[[1.0, -2.0], [0.0, 3.0]]]]), torch.ones(1, 1, 2, 2)
    alpha = gate_coefficients(x, g, torch.tensor([2.0]), torch.tensor(-4.0))
    assert alpha.flatten().tolist() == pytest.approx([0.5, 0.0180, 0.1192, 0.9820], abs=5e-5)
