"""AdamW: every weight once, decay on matrices alone."""

from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.training.optimizer import build_optimizer


def test_every_weight_is_updated_once_and_only_matrices_decay():
    model = TransformerConfig(d_model=16, n_heads=2, d_ff=16, source_vocab=9, target_vocab=9, tie="all").build()
    decayed, free = build_optimizer(model, TrainingConfig(weight_decay=0.1)).param_groups
    assert decayed["weight_decay"] == 0.1
    assert free["weight_decay"] == 0
    ids = [id(p) for group in (decayed, free) for p in group["params"]]
    assert sorted(ids) == sorted(id(p) for p in model.parameters())
    assert any(p is model.target_embedding.weight for p in free["params"])
    assert all(p.ndim == 2 for p in decayed["params"])
    names = {id(p): name for name, p in model.named_parameters()}
    assert all("norm" in names[id(p)] or "bias" in names[id(p)] or "embedding" in names[id(p)] for p in free["params"])
