"""From a token's number to its vector: a row of a table, times √d.

The factor brings a row of small numbers up to the size of the position encoding that is
added to it, while the same table, unscaled, can serve as the output's weights (Vaswani et al.
2017, section 3.4; Press & Wolf 2017).
"""

import math
from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.tap import tap

PAD = 0  # the id of padding, in every vocabulary of ours


def real_tokens(ids: Int[Tensor, "B L"], pad: int | None = PAD) -> Bool[Tensor, "B L"] | None:
    """Which tokens are not padding; None, which stands for all, where no id means it."""
    return None if pad is None else ids != pad


class TokenEmbedding(nn.Module):
    """table[ids] · √d_model, or table[ids] if it is not to be scaled.

    Rows start with standard deviation 1/(2√d): as output weights they then give logits small enough
    that the first loss is close to ln(vocabulary).
    """

    def __init__(self, vocab_size: int, d_model: int, scaled: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=0.5 / d_model**0.5))
        self.scale = math.sqrt(d_model) if scaled else 1.0

    def forward(self, ids: Int[Tensor, "B L"]) -> Float[Tensor, "B L d"]:
        return tap(self, "", nn.functional.embedding(ids, self.weight) * self.scale)


def output_table(
    source: TokenEmbedding, target: TokenEmbedding, tie: Literal["none", "target", "all"], bias: bool = False
) -> nn.Linear:
    """The table whose rows are compared with what a decoder made, one a word: W of logits = hidden · Wᵀ (+ b).

    Tied, it is the target's embedding, and with "all" the source's embedding is too (Press & Wolf 2017).
    """
    n_words, d_model = target.weight.shape
    output = nn.Linear(d_model, n_words, bias=bias)
    nn.init.normal_(output.weight, std=0.5 / d_model**0.5)
    if bias:
        nn.init.zeros_(output.bias)
    if tie != "none":
        output.weight = target.weight
    if tie == "all":
        source.weight = target.weight
    return output
