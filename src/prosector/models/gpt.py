"""GPT: the decoder alone. It reads what is written so far, and says what may come next.

    hidden = stack(embed(x))             every token, knowing its past
    logits = hidden · Wᵀ                 a score for each word that may come next

Without a source there is nothing to look at but one's own past: a layer is the encoder's, with a causal mask
(Radford et al. 2018 and 2019; pre-norm and tied tables since then).

Shapes: B batch, L length, d features, V vocabulary.
"""

from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.attention import Cache, Mask
from prosector.blocks import CausalStack, TokenEmbedding, output_table, real_tokens
from prosector.config.gpt import GptConfig
from prosector.tap import tap


class Gpt(nn.Module):
    """A writer: ids in, a score for each id that may follow each of them out."""

    def __init__(self, config: GptConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = TokenEmbedding(config.vocab, config.d_model, config.scale_embedding)
        self.decoder = CausalStack(
            [config.build_encoder_layer() for _ in range(config.layers)],
            config.build_position(bidirectional=False),
            config.build_final_norm(),
            config.dropout,
            config.build_norm() if config.embedding_norm else None,
        )
        self.output = output_table(self.embedding, self.embedding, "target" if config.tie else "none")

    def hidden(
        self,
        ids: Int[Tensor, "B L"],
        cache: Cache | None = None,
        positions: Int[Tensor, "*B L"] | None = None,
        mask: Mask | None = None,
    ) -> Float[Tensor, "B L d"]:
        """One vector a token, from which the next one follows.

        With a cache, `ids` is what is new. Padding on the left needs its `positions` and a `mask`.
        """
        real = real_tokens(ids, self.config.special.pad)
        return self.decoder(self.embedding(ids), cache, positions, mask, real)

    def logits(self, hidden: Float[Tensor, "B L d"]) -> Float[Tensor, "B L V"]:
        """A score for each word that may follow each token."""
        return tap(self, "logits", self.output(hidden))

    def forward(self, ids: Int[Tensor, "B L"]) -> Float[Tensor, "B L V"]:
        """The logits of a whole text at once."""
        return self.logits(self.hidden(ids))

    def new_cache(self) -> Cache:
        """An empty cache for writing step by step."""
        return Cache(self.config.layers)
