"""The first attention: a recurrent decoder that looks back at every word of the source, each time anew.

    memory  = [→h_j ; ←h_j]                              one annotation a source token, read from both sides
    c_t     = Σ_j α_tj memory_j                           α_t = softmax_j(vᵀ tanh(W_q s_{t-1} + W_k memory_j))
    s_t     = decoder([y_{t-1} ; c_t], s_{t-1})           s_0 = tanh(W_s ←h_1)
    hidden  = tanh(W_r [s_t ; y_{t-1} ; c_t])             logits = hidden · W_outᵀ

The source no longer has to fit into one vector; but a step still waits for the one before it (Bahdanau, Cho, Bengio
2015, appendix A.2; where the paper has a maxout before the output, here is a tanh).

Shapes: B batch, Ls and Lt source and target length, d features of a token, h of a state, V target vocabulary.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from prosector.attention import AdditiveAttention, Dropout, Mask, Scope
from prosector.blocks import PAD, Recurrent, RecurrentCache, TokenEmbedding, output_table
from prosector.config.recurrent import RnnAttentionConfig
from prosector.models.seq2seq import Seq2Seq
from prosector.tap import tap


class RnnAttentionTranslator(Seq2Seq):
    """A translator: source ids in, a score for each next target id out."""

    def __init__(self, config: RnnAttentionConfig) -> None:
        super().__init__()
        self.config = config
        d, h = config.d_model, config.d_hidden
        self.source_embedding = TokenEmbedding(config.source_vocab, d)
        self.target_embedding = TokenEmbedding(config.target_vocab, d)
        self.encoder = Recurrent(config.cell, d, h, config.encoder_layers, config.dropout, bidirectional=True)
        self.attention = AdditiveAttention(h, 2 * h, config.d_attention)
        self.decoder = Recurrent(config.cell, d + 2 * h, h, config.decoder_layers, config.dropout)
        self.first_state = nn.Linear(h, self.decoder.n_states * h)
        self.readout = nn.Linear(h + d + 2 * h, d)
        self.dropout = Dropout(config.dropout)
        self.output = output_table(self.source_embedding, self.target_embedding, config.tie)

    def encode(self, src: Int[Tensor, "B Ls"]) -> Float[Tensor, "B Ls 2h"]:
        """Read the source from both sides: one vector a token, 0 at padding."""
        memory, _ = self.encoder.read(self.dropout(self.source_embedding(src)), src != PAD)
        return tap(self, "memory", memory)

    def begin(self, memory: Float[Tensor, "B Ls 2h"], real: Bool[Tensor, "B Ls"]) -> Float[Tensor, "B states h"]:
        """The decoder's first state, from what the backward reader knows at the first real token: all of the source."""
        first = memory[torch.arange(len(memory), device=memory.device), real.to(torch.int8).argmax(dim=1)]  # [B, 2h]
        backward = first[:, self.config.d_hidden :]
        return tap(self, "first_state", self.first_state(backward).tanh().unflatten(1, (self.decoder.n_states, -1)))

    def decode(
        self,
        tgt: Int[Tensor, "B Lt"],
        memory: Float[Tensor, "B Ls 2h"],
        memory_real: Bool[Tensor, "B Ls"] | None = None,
        cache: RecurrentCache | None = None,
    ) -> Float[Tensor, "B Lt d"]:
        """Read what is written so far, padding on the right only: one vector a token, from which the next one follows.

        With a cache, `tgt` is what is new.
        """
        real = memory.new_ones(memory.shape[:2], dtype=torch.bool) if memory_real is None else memory_real
        cache = RecurrentCache() if cache is None else cache
        if cache.state is None or cache.keys is None:
            cache.state, cache.keys = self.begin(memory, real), self.attention.key(memory)
        scope = Scope(
            real.new_zeros(1, dtype=torch.long), torch.arange(real.shape[1], device=real.device), Mask.keys(real)
        )

        hidden = []
        for y in self.dropout(self.target_embedding(tgt)).split(1, dim=1):  # [B, 1, d] each
            before = self.decoder.top(cache.state)[:, None]  # [B, 1, h]
            context = self.attention(before, memory, scope, cache.keys)  # [B, 1, 2h]
            s, state = self.decoder.go_on(torch.cat([y, context], dim=-1), cache.state)
            cache.keep(state, 1)
            hidden.append(self.readout(self.dropout(torch.cat([s, y, context], dim=-1))).tanh())
        return tap(self, "hidden", torch.cat(hidden, dim=1))

    def new_cache(self) -> RecurrentCache:
        """An empty cache for decoding step by step."""
        return RecurrentCache()
