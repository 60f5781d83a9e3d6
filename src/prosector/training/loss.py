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

CHUNK = 1024


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
    """Sum of the losses of hidden · weightᵀ, with d loss / d logits = p - q taken on the way."""

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
        n_words = weight.shape[0]
        table = weight.to(hidden.dtype)
        wide = torch.promote_types(hidden.dtype, torch.float32)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight)
        total = torch.zeros((), dtype=wide, device=hidden.device)
        for x, label, x_gradient in zip(
            hidden.split(CHUNK), labels.split(CHUNK), hidden_gradient.split(CHUNK), strict=True
        ):
            logits = (x @ table.T).to(wide)  # [C, V]
            norm = logits.logsumexp(dim=1, keepdim=True)
            on_label = logits.gather(1, label[:, None])
            total += (norm - (1 - smoothing) * on_label).sum() - smoothing / n_words * logits.sum()
            p_minus_q = logits.sub_(norm).exp_().sub_(smoothing / n_words)
            p_minus_q.scatter_add_(1, label[:, None], torch.full_like(on_label, smoothing - 1))
            p_minus_q = p_minus_q.mul_(scale).to(hidden.dtype)
            torch.mm(p_minus_q, table, out=x_gradient)
            weight_gradient += p_minus_q.T @ x
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        return total * scale

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        return hidden_gradient * gradients[0], weight_gradient * gradients[0], None, None, None


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
