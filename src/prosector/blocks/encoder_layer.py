"""One layer of the encoder: look at each other, then think for oneself.

With a causal mask and a cache the same layer is that of a model that only writes (GPT).
"""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from prosector.attention.cache import KeysValues
from prosector.attention.multihead import MultiHeadAttention
from prosector.attention.scope import Scope
from prosector.tap import tap


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward, each with a residual path and a norm (Vaswani et al. 2017, section 3.1)."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residual: nn.Module,
        norm1: nn.Module,
        norm2: nn.Module,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.residual = residual
        self.norm1 = norm1
        self.norm2 = norm2

    def forward(
        self,
        x: Float[Tensor, "B L d"],
        scope: Scope,
        real: Bool[Tensor, "B L"] | None = None,
        kept: KeysValues | None = None,
    ) -> Float[Tensor, "B L d"]:
        """One pass; `kept` are this layer's keys and values of the tokens before."""
        x = self.residual(x, lambda y: self.attention(y, y, scope, kept), self.norm1, real)
        x = tap(self, "attended", x)
        x = self.residual(x, self.feed_forward, self.norm2, real)
        return tap(self, "", x)
