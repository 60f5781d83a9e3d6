"""Greedy decoding: always the likeliest next word."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from prosector.decoding.hypothesis import EOS, PAD, SOS, UNK, Hypothesis, length_normalised
from prosector.decoding.step import EncoderDecoder, Writer

NEVER = [PAD, UNK, SOS]  # no one writes these


@torch.inference_mode()
def greedy(
    model: EncoderDecoder, src: Int[Tensor, "B Ls"], max_length: int, alpha: float = 1.0
) -> list[Hypothesis]:
    """Write each row's target word by word, up to `max_length` tokens; a row that is finished leaves the batch."""
    writer = Writer(model, src)
    rows = torch.arange(len(src), device=src.device)  # which source each row of the batch belongs to
    tokens = torch.full((len(src),), SOS, device=src.device)
    written: list[list[int]] = [[] for _ in range(len(src))]
    log_p = [0.0] * len(src)
    finished = [False] * len(src)

    for _ in range(max_length + 1):
        scores = writer.step(tokens)  # [B, V]
        scores[:, NEVER] = -torch.inf
        best, tokens = scores.max(dim=-1)
        for row, score, token in zip(rows.tolist(), best.tolist(), tokens.tolist(), strict=True):
            log_p[row] += score
            finished[row] = token == EOS
            if token != EOS:
                written[row].append(token)
        going = (tokens != EOS).nonzero().squeeze(1)
        if len(going) == 0:
            break
        if len(going) < len(tokens):
            rows, tokens = rows[going], tokens[going]
            writer.select(going)

    return [
        Hypothesis(ids[:max_length], total, length_normalised(total, len(ids) + 1, alpha), done)
        for ids, total, done in zip(written, log_p, finished, strict=True)
    ]
