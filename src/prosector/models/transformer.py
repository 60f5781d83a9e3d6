"""The encoder-decoder Transformer: read a sentence, write another.

    memory = encoder(embed(src))                       every source token, knowing the others
    hidden = decoder(embed(tgt), memory)               every target token, knowing its past and the source
    logits = hidden · W_outᵀ                           a score for each word that may come next

Attention Is All You Need (Vaswani et al. 2017), with what has since become usual as a choice:
pre-norm, other position encodings, shared tables. Padding may stand on either side of a sentence.

Shapes: B batch, Ls and Lt source and target length, d features, V target vocabulary.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

from prosector.attention import Cache, Mask
from prosector.blocks import DecoderStack, EncoderStack, TokenEmbedding, output_table
from prosector.config.transformer import TransformerConfig
from prosector.models.seq2seq import Seq2Seq


class Transformer(Seq2Seq):
    """A translator: source ids in, a score for each next target id out."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = TokenEmbedding(config.source_vocab, config.d_model, config.scale_embedding)
        self.target_embedding = TokenEmbedding(config.target_vocab, config.d_model, config.scale_embedding)
        self.encoder = EncoderStack(
            [config.build_encoder_layer() for _ in range(config.encoder_layers)],
            config.build_position(bidirectional=True),
            config.build_final_norm(),
            config.dropout,
            config.build_norm() if config.embedding_norm else None,
        )
        self.decoder = DecoderStack(
            [config.build_decoder_layer() for _ in range(config.decoder_layers)],
            config.build_position(bidirectional=False),
            config.build_final_norm(),
            config.dropout,
            config.build_norm() if config.embedding_norm else None,
        )
        self.output = output_table(self.source_embedding, self.target_embedding, config.tie, config.output_bias)
        self.output_scale = config.d_model**-0.5 if config.scale_output else 1.0

    def encode(
        self,
        src: Int[Tensor, "B Ls"],
        positions: Int[Tensor, "*B Ls"] | None = None,
        mask: Mask | None = None,
    ) -> Float[Tensor, "B Ls d"]:
        """Read the source: one vector a token."""
        return self.encoder(self.source_embedding(src), self.real(src), positions, mask)

    def decode(
        self,
        tgt: Int[Tensor, "B Lt"],
        memory: Float[Tensor, "B Ls d"],
        memory_real: Bool[Tensor, "B Ls"] | None = None,
        cache: Cache | None = None,
        positions: Int[Tensor, "*B Lt"] | None = None,
        mask: Mask | None = None,
    ) -> Float[Tensor, "B Lt d"]:
        """Read what is written so far: one vector a token, from which the next one follows.

        With a cache, `tgt` is what is new. Padding on the left needs its `positions` and a `mask`.
        """
        x = self.target_embedding(tgt)
        hidden = self.decoder(x, memory, memory_real, cache, positions, mask, self.real(tgt))
        return hidden if self.output_scale == 1 else hidden * self.output_scale

    def new_cache(self) -> Cache:
        """An empty cache for decoding step by step."""
        return Cache(self.config.decoder_layers)
