"""Multi-head attention: several attentions side by side, each with queries, keys and values of its own.

    head_i = softmax(Q W_qᵢᵀ (K W_kᵢᵀ)ᵀ / √d_k) V W_vᵢᵀ        output = [head_1 ‖ … ‖ head_h] W_oᵀ

The heads' projections lie side by side in one matrix, so that all of them are one product.
Self-attention takes queries and keys from one sequence, cross-attention from two (Vaswani et al.
2017, section 3.2.2). With fewer key heads than query heads it is grouped-query attention
(Ainslie et al. 2023), with a single one multi-query attention (Shazeer 2019).
"""

from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import functional
from prosector.attention.cache import KeysValues
from prosector.attention.heads import Heads
from prosector.attention.kernels import Kernel, sdpa
from prosector.attention.packing import merge_heads, split_heads
from prosector.attention.scope import Scope
from prosector.tap import tap


class MultiHeadAttention(Heads):
    """h attentions side by side, of queries from one sequence and keys and values from it or another.

    Args:
        d_model: features of the input and the output.
        n_heads: how many heads.
        n_kv_heads: how many of keys and values; a divisor of n_heads, which it is by default.
        d_head: features of a head's queries and keys; d_model / n_heads by default.
        d_value: features of a head's values; d_head by default.
        d_source: features of what keys and values are made from, where it is another sequence; d_model by default.
        bias: whether the projections add one.
        qkv_bias: whether those of queries, keys and values do, where the last one differs; as `bias` by default.
        output: whether a last projection mixes the heads; without, they are only laid side by side.
        dropout: the share of weights dropped in training, which needs the written-out kernel.
        kernel: how it is computed.
        scale: what scores are multiplied with; 1/√d_head by default.

    Raises:
        ValueError: heads that do not divide d_model (if d_head is not given) or n_kv_heads that do not divide n_heads.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        d_value: int | None = None,
        d_source: int | None = None,
        bias: bool = True,
        qkv_bias: bool | None = None,
        output: bool = True,
        dropout: float = 0.0,
        kernel: Kernel = sdpa,
        scale: float | None = None,
    ) -> None:
        super().__init__(n_heads, dropout, kernel, scale)
        if d_head is None and d_model % n_heads:
            raise ValueError(f"d_model={d_model} does not divide into n_heads={n_heads}; give d_head, or change one")
        self.n_kv_heads = n_kv_heads or n_heads
        if n_heads % self.n_kv_heads:
            raise ValueError(f"n_heads={n_heads} is not a multiple of n_kv_heads={self.n_kv_heads}")
        self.d_head = d_head or d_model // n_heads
        self.d_value = d_value or self.d_head

        before = bias if qkv_bias is None else qkv_bias
        self.query = nn.Linear(d_model, n_heads * self.d_head, bias=before)
        self.key = nn.Linear(d_source or d_model, self.n_kv_heads * self.d_head, bias=before)
        self.value = nn.Linear(d_source or d_model, self.n_kv_heads * self.d_value, bias=before)
        self.output = nn.Linear(n_heads * self.d_value, d_model, bias=bias) if output else nn.Identity()
        for linear in (self.query, self.key, self.value, self.output):
            if isinstance(linear, nn.Linear):
                nn.init.xavier_uniform_(linear.weight)
                if linear.bias is not None:
                    nn.init.zeros_(linear.bias)

    def forward(
        self,
        x: Float[Tensor, "B Lq d"],
        source: Float[Tensor, "B Lk d_source"],
        scope: Scope,
        kept: KeysValues | None = None,
    ) -> Float[Tensor, "B Lq d"]:
        """Let each row of x look at the rows of `source` (x itself, in self-attention), and at those kept before."""
        together = x is source
        x = functional.as_autocast_does(x)
        source = x if together else functional.as_autocast_does(source)
        query = split_heads(self.query(x), self.n_heads, scope.packed)  # [B, H, Lq, d_head]
        key = split_heads(self.key(source), self.n_kv_heads, scope.packed_keys)  # [B, Hkv, Ln, d_head]
        value = split_heads(self.value(source), self.n_kv_heads, scope.packed_keys)  # [B, Hkv, Ln, d_value]
        query, key = scope.place(query, key)
        if kept is not None:
            key, value = kept.append(key, value)  # [B, Hkv, Lk, ..]
        return self.mix(query, key, value, scope)

    def look_again(self, x: Float[Tensor, "B Lq d"], scope: Scope, kept: KeysValues) -> Float[Tensor, "B Lq d"]:
        """Look at what was kept and nothing new: cross-attention after the first step."""
        query = functional.split_heads(self.query(x), self.n_heads)
        return self.mix(query, kept.key, kept.value, scope)  # type: ignore[arg-type]

    def mix(self, query: Tensor, key: Tensor, value: Tensor, scope: Scope) -> Float[Tensor, "B Lq d"]:
        """Weigh the values, lay the heads side by side, and project."""
        scope = scope.seen_by(self)
        query = tap(self, "query", query)
        key = tap(self, "key", key)
        value = tap(self, "value", value)
        heads = tap(self, "heads", self.attend(query, key, value, scope))  # [B, H, Lq, d_value]
        return tap(self, "", self.output(merge_heads(heads, scope.packed)))
