"""Label-smoothed cross-entropy: how surprised the model is, written out and in chunks.

    q = (1 - ε) · one_hot(label) + ε / V          the smoothed target (Szegedy et al. 2016)
    loss = - Σ_v q_v log p_v                      averaged over the labels that are not padding

`chunked_cross_entropy` equals `label_smoothed_cross_entropy` of the output layer's logits. It makes
the logits of a thousand tokens at a time, and their gradient with them, so that those of the
whole batch, by far the largest tensors of a training step, never exist.

Shapes: N tokens, d features, V words.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.text.special import PAD

CHUNK = 1024  # tokens whose logits exist at once
BLOCK = 128  # of these, tokens whose probabilities exist in full precision: few enough for the cache


def label_smoothed_cross_entropy(
    logits: Float[Tensor, "*N V"], labels: Int[Tensor, "*N"], smoothing: float = 0.0
) -> Float[Tensor, ""]:
    """- Σ_v q_v log p_v, the mean over labels that are not `<pad>`; 0 if all are."""
    log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
    on_label = log_p.gather(-1, labels[..., None]).squeeze(-1)
    losses = -(1 - smoothing) * on_label - smoothing * log_p.mean(dim=-1)
    real = labels != PAD
    return losses.masked_fill(~real, 0.0).sum() / real.sum().clamp(min=1)


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Sum of the losses of hidden · weightᵀ, and its gradients, which are taken on the way.

    With x one row of hidden, W the table, z = W x and p = softmax(z),

        loss     = ln Σ exp z - (1 - ε) z_label - ε/V Σ z
        d / d z  = p - q = p without p_label, plus (p_label - 1 + ε) on the label, minus ε/V everywhere

    so that only p itself, its label set to 0, goes through the two products with V columns; what the other two parts
    add is a row of the table, or of x, and a sum of rows.
    """

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, scale: float) -> Tensor:
        """All three products of a chunk are in the type of autocast, where it is on; sums and the loss are not."""
        device = hidden.device.type
        if torch.is_autocast_enabled(device):
            hidden = hidden.to(torch.get_autocast_dtype(device))
        with torch.autocast(device, enabled=False):
            return _ChunkedCrossEntropy.in_chunks(ctx, hidden, weight, labels, smoothing, scale)

    @staticmethod
    def in_chunks(ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, smoothing: float, scale: float) -> Tensor:
        table, wide = weight.to(hidden.dtype), torch.promote_types(hidden.dtype, torch.float32)
        everywhere = smoothing / len(weight)
        rows = table.sum(dim=0, dtype=wide)  # [d], Σ_v W_v, so that x · rows = Σ z
        hidden_gradient = torch.empty_like(hidden, dtype=wide)
        weight_gradient = torch.zeros_like(weight, dtype=wide)
        total = torch.zeros((), dtype=wide, device=hidden.device)
        for x, label, x_gradient in zip(
            hidden.split(CHUNK), labels.split(CHUNK), hidden_gradient.split(CHUNK), strict=True
        ):
            logits = x @ table.T  # [C, V]
            on_label = logits.gather(1, label[:, None]).to(wide)[:, 0]
            norm, p_label = probabilities_in_place(logits, label)
            x_wide = x.to(wide)
            total += (norm - (1 - smoothing) * on_label).sum() - everywhere * (x_wide @ rows).sum()
            at_label = (p_label - (1 - smoothing))[:, None]
            x_gradient.copy_(logits @ table).addcmul_(at_label, table[label].to(wide)).sub_(everywhere * rows)
            weight_gradient += logits.T @ x
            weight_gradient.index_add_(0, label, at_label * x_wide).sub_(everywhere * x_wide.sum(dim=0))
        hidden_gradient, weight_gradient = hidden_gradient.mul_(scale), weight_gradient.mul_(scale)
        ctx.save_for_backward(hidden_gradient.to(hidden.dtype), weight_gradient.to(weight.dtype))
        return total * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None, None


def probabilities_in_place(
    logits: Float[Tensor, "C V"], labels: Int[Tensor, "C"]
) -> tuple[Float[Tensor, "C"], Float[Tensor, "C"]]:
    """Make logits their softmax, with 0 at the label. Returns ln Σ exp(logits) and the label's probability.

    The probabilities are computed in float32 at least, a block of rows at a time. With m the highest logit and p_m its
    probability, ln Σ exp z = m - ln p_m.
    """
    wide = torch.promote_types(logits.dtype, torch.float32)
    norm, on_label = torch.empty(2, len(logits), dtype=wide, device=logits.device)
    room = torch.empty(2, min(BLOCK, len(logits)), logits.shape[1], dtype=wide, device=logits.device)  # used again
    parts = (logits, labels[:, None], norm, on_label)
    for rows, label, its_norm, its_p in zip(*(part.split(BLOCK) for part in parts), strict=True):
        z, p = room[:, : len(rows)]
        z.copy_(rows)
        torch.softmax(z, dim=1, out=p)
        torch.sub(z.amax(dim=1), p.amax(dim=1).log_(), out=its_norm)
        its_p.copy_(p.gather(1, label)[:, 0])
        rows.copy_(p.scatter_(1, label, 0.0))
    return norm, on_label


def chunked_cross_entropy(
    hidden: Float[Tensor, "B L d"],
    weight: Float[Tensor, "V d"],
    labels: Int[Tensor, "B L"],
    smoothing: float = 0.0,
    n_tokens: int | None = None,
) -> Float[Tensor, ""]:
    """`label_smoothed_cross_entropy(hidden @ weight.T, labels)` without ever holding all the logits.

    Args:
        n_tokens: what the sum is divided by; the labels that are not `<pad>` by default. Batches whose
            gradients are accumulated share one number.
    """
    real = labels != PAD
    kept = labels[real]
    scale = 1 / max(len(kept) if n_tokens is None else n_tokens, 1)
    return _ChunkedCrossEntropy.apply(hidden[real], weight, kept, smoothing, scale)
