"""One layer of the decoder: look at what is written, then at the source, then think."""

from jaxtyping import Bool, Float
from torch import Tensor, nn

from prosector.attention.cache import KeysValues
from prosector.attention.multihead import MultiHeadAttention
from prosector.attention.scope import Scope
from prosector.tap import tap


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, feed-forward (Vaswani et al. 2017, section 3.1)."""

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: nn.Module,
        residual: nn.Module,
        norm1: nn.Module,
        norm2: nn.Module,
        norm3: nn.Module,
    ) -> None:
        super().__init__()
        self.self = self_attention
        self.cross = cross_attention
        self.feed_forward = feed_forward
        self.residual = residual
        self.norm1 = norm1
        self.norm2 = norm2
        self.norm3 = norm3

    def forward(
        self,
        x: Float[Tensor, "B Lt d"],
        memory: Float[Tensor, "B Ls d"],
        scope: Scope,
        memory_scope: Scope,
        kept: tuple[KeysValues, KeysValues] | None = None,
        real: Bool[Tensor, "B Lt"] | None = None,
    ) -> Float[Tensor, "B Lt d"]:
        """One pass; `kept` are the keys and values of this layer's self- and cross-attention."""
        kept_self, kept_cross = kept or (None, None)

        def look_at_memory(y: Tensor) -> Tensor:
            if kept_cross is not None and kept_cross.length:  # the memory's keys were computed in the first step
                return self.cross.look_again(y, memory_scope, kept_cross)
            return self.cross(y, memory, memory_scope, kept_cross)

        x = self.residual(x, lambda y: self.self(y, y, scope, kept_self), self.norm1, real)
        x = tap(self, "looked_back", x)
        x = self.residual(x, look_at_memory, self.norm2, real)
        x = tap(self, "looked_across", x)
        x = self.residual(x, self.feed_forward, self.norm3, real)
        return tap(self, "", x)
