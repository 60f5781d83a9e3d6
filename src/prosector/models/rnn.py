"""Two recurrent networks joined by one vector: how a translation was written before attention.

    state   = encoder(x_1 … x_n)                    after the last real token: all that is known of the source
    s_t     = decoder([y_{t-1} ; c], s_{t-1})       s_0 = state, c = its last layer's h
    hidden  = W s_t + b                             logits = hidden · W_outᵀ

Whatever the source's length, it has to fit into one state, and what was read first has been through every later
step. Handing c over with every word (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder",
section 2.2), not at the beginning only (Sutskever et al. 2014), spares the decoder from having to remember it.

Shapes: B batch, Ls and Lt source and target length, d features of a token, h of a state, V target vocabulary.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.attention import Dropout
from prosector.blocks import PAD, Recurrent, RecurrentCache, TokenEmbedding, output_table
from prosector.config.recurrent import RnnConfig
from prosector.models.seq2seq import Seq2Seq
from prosector.tap import tap


class RnnTranslator(Seq2Seq):
    """A translator: source ids in, a score for each next target id out."""

    def __init__(self, config: RnnConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = TokenEmbedding(config.source_vocab, config.d_model)
        self.target_embedding = TokenEmbedding(config.target_vocab, config.d_model)
        self.encoder = Recurrent(config.cell, config.d_model, config.d_hidden, config.layers, config.dropout)
        d_input = config.d_model + config.d_hidden * config.context_at_every_step
        self.decoder = Recurrent(config.cell, d_input, config.d_hidden, config.layers, config.dropout)
        self.readout = nn.Linear(config.d_hidden, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.output = output_table(self.source_embedding, self.target_embedding, config.tie)

    def encode(self, src: Int[Tensor, "B Ls"]) -> Float[Tensor, "B states h"]:
        """Read the source, and keep the last state: its length says nothing about the source's."""
        x = self.dropout(self.source_embedding(src))
        _, state = self.encoder.read(x, src != PAD)
        return tap(self, "state", state)

    def decode(
        self,
        tgt: Int[Tensor, "B Lt"],
        memory: Float[Tensor, "B states h"],
        memory_real: Bool[Tensor, "B Ls"] | None = None,
        cache: RecurrentCache | None = None,
    ) -> Float[Tensor, "B Lt d"]:
        """Read what is written so far, padding on the right only: one vector a token, from which the next one follows.

        With a cache, `tgt` is what is new. (The memory has no padding; `memory_real` is what other models need.)
        """
        x = self.dropout(self.target_embedding(tgt))  # [B, Lt, d]
        if self.config.context_at_every_step:
            context = self.encoder.top(memory)[:, None].expand(-1, tgt.shape[1], -1)  # [B, Lt, h]
            x = torch.cat([x, context], dim=-1)
        before = memory if cache is None or cache.state is None else cache.state
        states, state = self.decoder.go_on(x, before)
        if cache is not None:
            cache.keep(state, tgt.shape[1])
        return tap(self, "hidden", self.readout(self.dropout(tap(self, "states", states))))

    def new_cache(self) -> RecurrentCache:
        """An empty cache for decoding step by step."""
        return RecurrentCache()
