"""AdamW (Loshchilov & Hutter 2019): weight decay on matrices, none on biases, norms and embeddings."""

from torch import nn
from torch.optim import AdamW

from prosector.blocks import TokenEmbedding
from prosector.config.training import TrainingConfig


def build_optimizer(model: nn.Module, config: TrainingConfig) -> AdamW:
    """The optimizer of a model's weights; each weight once, tied ones too."""
    tables = {id(module.weight) for module in model.modules() if isinstance(module, TokenEmbedding)}
    weights = [p for p in model.parameters() if p.requires_grad]
    decayed = [p for p in weights if p.ndim > 1 and id(p) not in tables]
    free = [p for p in weights if p.ndim <= 1 or id(p) in tables]
    groups = [{"params": decayed, "weight_decay": config.weight_decay}, {"params": free, "weight_decay": 0.0}]
    fused = all(p.device.type in ("cpu", "cuda") for p in weights)  # one pass over a weight instead of ten
    return AdamW(groups, lr=config.learning_rate, betas=config.betas, eps=1e-9, fused=fused)
