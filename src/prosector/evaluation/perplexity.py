"""How surprised a model is by the right words: mean - log p of the references' tokens, and its exponential.

    loss = - 1/N Σ log p(token | source, the tokens before)        nats a token, <eos> counted
    perplexity = e^loss        as unsure as if it chose among so many words alike

Per token of the model's own tokenizer: figures of models that cut text up differently do not compare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.data.batching import collate
from prosector.data.cutting import cut
from prosector.text.special import PAD


class Surprise(NamedTuple):
    """The sum of - log p over so many tokens."""

    nats: float
    n_tokens: int

    @property
    def loss(self) -> float:
        """Nats a token."""
        return self.nats / self.n_tokens if self.n_tokens else math.nan

    @property
    def perplexity(self) -> float:
        """e^loss."""
        return math.exp(self.loss)


def log_p_of_labels(logits: Float[Tensor, "*B V"], labels: Int[Tensor, "*B"]) -> Float[Tensor, "*B"]:
    """log p of each label, 0 where it is `<pad>`; in float32 at least."""
    log_p = logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(dim=-1)
    return log_p.gather(-1, labels[..., None]).squeeze(-1).masked_fill(labels == PAD, 0.0)


@torch.inference_mode()
def surprise(
    model: nn.Module,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    source_eos: bool,
    batch_tokens: int = 1024,
) -> Surprise:
    """How surprised a model is by the targets, each token given its source and the tokens before (teacher forcing).

    Args:
        model: in evaluation; called as `model(src, tgt_in)` it gives logits.
        sources: ids without `<eos>`.
        targets: ids without `<sos>` and `<eos>`.
        source_eos: whether the model's sources end with `<eos>`.
        batch_tokens: tokens of a batch's longer side, padding counted.
    """
    device = next(model.parameters()).device
    lengths = [max(len(src), len(tgt)) + 1 for src, tgt in zip(sources, targets, strict=True)]
    nats, n_tokens = 0.0, 0
    for examples in cut(lengths, sorted(range(len(lengths)), key=lengths.__getitem__), batch_tokens):
        batch = collate([sources[i] for i in examples], [targets[i] for i in examples], source_eos).to(device)
        nats -= log_p_of_labels(model(batch.src, batch.tgt_in), batch.labels).double().sum().item()
        n_tokens += batch.n_tokens
    return Surprise(nats, n_tokens)
