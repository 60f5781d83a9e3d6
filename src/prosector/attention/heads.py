"""What happens between the projections: heads of queries look at heads of keys, and mix heads of values.

This part is the same wherever queries, keys and values come from. `multihead.py` projects them with a matrix
for each, `prosector.nn` with torch.nn's single one.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import functional
from prosector.attention.dropout import Dropout
from prosector.attention.kernels import Kernel
from prosector.attention.scope import Scope
from prosector.tap import current_observer, tap


class Heads(nn.Module):
    """softmax(Q Kᵀ / √d_k) V, head by head, by a kernel or written out.

    Args:
        n_heads: how many heads queries have; keys and values may have fewer, each shared by a group.
        dropout: the share of weights dropped in training, which needs the written-out way.
        kernel: how it is computed otherwise.
        scale: what scores are multiplied with; 1/√d_k by default.
    """

    def __init__(self, n_heads: int, dropout: float, kernel: Kernel, scale: float | None = None) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.kernel = kernel
        self.scale = scale
        self.dropout = Dropout(dropout)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, scope: Scope) -> Float[Tensor, "B H Lq d_v"]:
        """The kernel's result; written out where weights are dropped or an observer changes them."""
        watching = current_observer()
        if self.training and self.dropout.p:
            return self.write_out(query, key, value, scope)
        if watching is None or not any(watching.wants(self, name) for name in ("scores", "weights")):
            return self.kernel(query, key, value, scope, self.scale)
        if any(watching.edits(self, name) for name in ("scores", "weights")):
            return self.write_out(query, key, value, scope)

        # A fused kernel never forms scores. They are computed again, to be seen; the output stays the kernel's.
        heads = self.kernel(query, key, value, scope, self.scale)
        with torch.no_grad():
            again = self.write_out(query, key, value, scope)
            tap(self, "recomputed", (again - heads).abs().max())
        return heads

    def write_out(self, query: Tensor, key: Tensor, value: Tensor, scope: Scope) -> Float[Tensor, "B H Lq d_v"]:
        """`functional.attention`, step by step."""
        return self.mix_values(self.weigh(query, key, scope), value)

    def weigh(self, query: Tensor, key: Tensor, scope: Scope) -> Float[Tensor, "B H Lq Lk"]:
        """How much each query looks at each key, with a tap after each step; nothing is dropped yet."""
        key = functional.share_heads(key, self.n_heads)
        scores = tap(self, "scores", functional.scaled_scores(query, key, self.scale, scope.bias))
        return tap(self, "weights", functional.softmax_over_keys(scores, scope.may_look_of(query)))

    def mix_values(self, weights: Float[Tensor, "B H Lq Lk"], value: Tensor) -> Float[Tensor, "B H Lq d_v"]:
        """The weighted sum of the values; in training some weights are dropped."""
        value = functional.share_heads(value, self.n_heads)
        return self.dropout(weights).to(value.dtype) @ value
