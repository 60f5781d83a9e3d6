"""Additive attention: a small network says how well a query fits each key.

    scores   e_ij = vᵀ tanh(W_q q_i + W_k k_j)         instead of a dot product
    weights  α_ij = softmax_j(e_ij)                    exactly 0 where a mask forbids
    context  c_i  = Σ_j α_ij k_j                       the weighted sum of the keys themselves

The first attention of all (Bahdanau, Cho, Bengio 2015, "Neural Machine Translation by Jointly Learning to
Align and Translate", section 3.1 and appendix A.1.2). Query and key may differ in size, which a dot product
cannot have; but each pair passes a tanh, where dot products are one matrix product.

Shapes: B batch, Lq queries, Lk keys, a features of the small network.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention.functional import accumulation_type, softmax_over_keys
from prosector.attention.scope import Scope
from prosector.tap import tap


def additive_scores(
    query: Float[Tensor, "B Lq a"], key: Float[Tensor, "B Lk a"], v: Float[Tensor, " a"]
) -> Float[Tensor, "B Lq Lk"]:
    """vᵀ tanh(q_i + k_j) for every pair of a projected query and a projected key. In float32 at least."""
    wide = accumulation_type(query.dtype)
    together = query[:, :, None].to(wide) + key[:, None].to(wide)  # [B, Lq, Lk, a]
    return together.tanh() @ v.to(wide)


class AdditiveAttention(nn.Module):
    """One head of additive attention, of queries of one size over keys of another.

    Args:
        d_query: features of a query.
        d_key: features of a key.
        d_hidden: features of the small network.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(d_query, d_hidden)
        self.key = nn.Linear(d_key, d_hidden, bias=False)  # the query's bias serves both
        self.v = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) / d_hidden**0.5)

    def forward(
        self,
        query: Float[Tensor, "B Lq d_q"],
        key: Float[Tensor, "B Lk d_k"],
        scope: Scope,
        projected: Float[Tensor, "B Lk a"] | None = None,
    ) -> Float[Tensor, "B Lq d_k"]:
        """The context of each query.

        Args:
            scope: which keys may be looked at.
            projected: `self.key(key)`, which a decoder computes once for all its steps.
        """
        projected = self.key(key) if projected is None else projected
        scores = tap(self, "scores", additive_scores(self.query(query), projected, self.v))  # [B, Lq, Lk]
        may_look = scope.seen_by(self).may_look_of(query[:, None])  # [B, 1, Lq, Lk]
        weights = softmax_over_keys(scores, None if may_look is None else may_look[:, 0])
        weights = tap(self, "weights", weights)
        return tap(self, "context", weights.to(key.dtype) @ key)
