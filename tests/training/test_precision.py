"""Precision: bf16 only where a machine multiplies it, and never for weights or losses."""

import pytest
import torch

from prosector.config.transformer import TransformerConfig
from prosector.training.loss import chunked_cross_entropy
from prosector.training.precision import matrix_products, multiplies_bf16, resolve

CPU = torch.device("cpu")


def test_auto_is_bf16_exactly_where_the_machine_has_it():
    assert resolve("auto", CPU) == ("bf16" if multiplies_bf16(CPU) else "float32")
    assert resolve("bf16", CPU) == "bf16"
    assert resolve("float32", CPU) == "float32"


def test_a_step_in_bf16_stays_close_to_one_in_float32_and_keeps_its_weights_in_float32():
    model = TransformerConfig(d_model=32, n_heads=2, d_ff=64, source_vocab=20, target_vocab=20, dropout=0.0).build()
    src, tgt = torch.randint(4, 20, (4, 7)), torch.randint(4, 20, (4, 6))
    losses, gradients = [], []
    for precision in ("float32", "bf16"):
        with matrix_products(precision, CPU):
            loss = chunked_cross_entropy(model.hidden(src, tgt), model.output.weight, tgt, 0.1)
        model.zero_grad()
        loss.backward()
        losses.append(loss)
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    assert all(loss.dtype == torch.float32 for loss in losses)
    assert all(gradient.dtype == torch.float32 for gradient in gradients)
    assert losses[1].item() == pytest.approx(losses[0].item(), rel=2e-2)
    assert torch.cosine_similarity(*gradients, dim=0) > 0.99
    assert not torch.equal(*gradients)  # it was bf16
