"""Where in a Transformer a position encoding may act: three places, each free to do nothing.

Attention sees a set, not a sequence: permute its input and its output is permuted alike.
Whatever knows about order therefore has to be put in, and there are three places to do so:
on the embedding (2017's sinusoid), on queries and keys (RoPE), or on the scores (ALiBi, T5).

Shapes: B batch, L positions, H heads, d features. Positions are `[L]` or `[B, L]`
integers (`[B, L, axes]` for pictures), the real ones also with padding on the left or a cache.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn


class Position(nn.Module):
    """The encoding that does nothing, and the base of all others.

    Override one method or more. The stack owns the object, so what a layer would learn
    of positions is shared by all layers; cross-attention never uses it.
    """

    def embed(self, x: Float[Tensor, "B L d"], positions: Int[Tensor, "*B L"]) -> Float[Tensor, "B L d"]:
        """Mark the embeddings with their positions."""
        return x

    def rotate(
        self,
        query: Float[Tensor, "B H Lq d"],
        key: Float[Tensor, "B Hkv Lk d"],
        query_positions: Int[Tensor, "*B Lq"],
        key_positions: Int[Tensor, "*B Lk"],
    ) -> tuple[Float[Tensor, "B H Lq d"], Float[Tensor, "B Hkv Lk d"]]:
        """Mark queries and keys with their positions, before their dot product."""
        return query, key

    def bias(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> Float[Tensor, "B H Lq Lk"] | None:
        """What is added to the scores for each pair of positions; None adds nothing."""
        return None

    def fold(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> tuple[Float[Tensor, "#B #H Lq n"], Float[Tensor, "#B 1 Lk n"]] | None:
        """The bias as a dot product: n features of queries and n of keys, right where no key stands after its query.

        A long causal line then needs no table of biases; None if there are no such features.
        """
        return None
