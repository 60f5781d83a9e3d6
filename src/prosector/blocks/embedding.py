"""From a token's number to its vector: a row of a table, times √d.

The factor brings a row of small numbers up to the size of the position encoding that is
added to it, while the same table, unscaled, can serve as the output's weights (Vaswani et al.
2017, section 3.4; Press & Wolf 2017).
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.tap import tap


class TokenEmbedding(nn.Module):
    """table[ids] · √d_model.

    Rows start with standard deviation 1/(2√d): as output weights they then give logits small enough
    that the first loss is close to ln(vocabulary).
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model).normal_(std=0.5 / d_model**0.5))
        self.scale = math.sqrt(d_model)

    def forward(self, ids: Int[Tensor, "B L"]) -> Float[Tensor, "B L d"]:
        return tap(self, "", nn.functional.embedding(ids, self.weight) * self.scale)
