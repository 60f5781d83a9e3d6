"""One target a source, word by word: what greedy decoding and sampling have in common.

They differ in one thing only, which is how the next word is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.config.special import first_id
from prosector.decoding.hypothesis import Hypothesis, hypothesis
from prosector.decoding.rules import Rule
from prosector.decoding.step import EncoderDecoder, Writer, one_for_each, special_of

# The next token of each row, given log p [B, V] (-∞ where forbidden), each row's source, and how much is written.
NextTokens = Callable[[Tensor, Sequence[int], int], Tensor]


@torch.inference_mode()
def write(
    model: EncoderDecoder,
    src: Int[Tensor, "B Ls"],
    max_length: int | Sequence[int],
    next_tokens: NextTokens,
    alpha: float,
    rule: Rule,
) -> list[Hypothesis]:
    """Write each source's target until `<eos>`; a target that is done leaves the batch.

    One with `max_length` tokens may still end by itself; otherwise it is cut there, unfinished.
    """
    longest, special = one_for_each(max_length, len(src)), special_of(model)
    written: list[list[int]] = [[] for _ in longest]
    log_p, finished = [0.0] * len(longest), [False] * len(longest)

    writer = Writer(model, src)
    sources = list(range(len(longest)))  # whose target each row of the batch is
    last = [first_id(special)] * len(longest)
    while sources:
        n_written = len(written[sources[0]])
        scores = writer.step(last, [rule(source, written[source]) for source in sources])  # [B, V]
        tokens = next_tokens(scores, sources, n_written)
        gains: Float[Tensor, " B"] = scores.gather(1, tokens[:, None]).squeeze(1)
        going = []
        for row, (source, token, gain) in enumerate(zip(sources, tokens.tolist(), gains.tolist(), strict=True)):
            if token in special.ends:
                log_p[source] += gain
                finished[source] = True
            elif n_written < longest[source]:
                log_p[source] += gain
                written[source].append(token)
                going.append(row)
        sources = [sources[row] for row in going]
        last = [written[source][-1] for source in sources]
        writer.select(going)

    return [hypothesis(*parts, alpha) for parts in zip(written, log_p, finished, strict=True)]
