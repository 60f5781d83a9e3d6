"""BERT: the encoder alone. It reads a text in both directions, and fills what was hidden from it.

    x      = embed(ids) + segment                every token, and to which of two sentences it belongs
    hidden = encoder(x)                          every token, knowing all others
    fill   = gelu(norm(W hidden)) · W_embedᵀ + b     a score for each word at each place: what stands under [MASK]?
    label  = W tanh(W_p hidden_0)                a score for each label of the whole, from its first token

Devlin et al. 2019, sections 3 and 3.1, where they are called MLM and NSP. The text is `<sos> a … <eos> b … <eos>`
(there: [CLS], [SEP]); [MASK] is the id after the vocabulary's last, or one of its own.

Shapes: B batch, L length, d features, V vocabulary, C labels.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.attention import Dropout
from prosector.blocks import EncoderStack, TokenEmbedding, real_tokens
from prosector.config.bert import BertConfig
from prosector.tap import tap


class Bert(nn.Module):
    """A reader: ids in, one vector a token out, and two questions that can be asked of them."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        d = config.d_model
        self.embedding = TokenEmbedding(config.vocab + config.mask_row, d, config.scale_embedding)
        self.segments = nn.Parameter(0.5 * torch.randn(config.n_segments, d))
        self.encoder = EncoderStack(
            [config.build_encoder_layer() for _ in range(config.layers)],
            config.build_position(bidirectional=True),
            config.build_final_norm(),
            config.dropout,
            config.build_norm() if config.embedding_norm else None,
        )
        if config.fills:
            self.fill_inner = nn.Linear(d, d)
            self.fill_norm = config.build_norm()
            self.fill_bias = nn.Parameter(torch.zeros(config.vocab))
        if config.labels:
            self.pool = nn.Linear(d, d)
            self.dropout = Dropout(config.dropout)
            self.label = nn.Linear(d, config.n_labels)
            nn.init.normal_(self.label.weight, std=0.02)
            nn.init.zeros_(self.label.bias)

    @property
    def mask_id(self) -> int:
        """The id of [MASK].

        Raises:
            ValueError: it is one of the vocabulary's, and the config does not say which.
        """
        if self.config.mask_row:
            return self.config.vocab
        if self.config.special.mask is None:
            raise ValueError("which id is [MASK] is not known: special.mask is missing; its tokenizer would say it")
        return self.config.special.mask

    def hidden(self, ids: Int[Tensor, "B L"], segments: Int[Tensor, "B L"] | None = None) -> Float[Tensor, "B L d"]:
        """One vector a token; all of the first segment by default."""
        segments = torch.zeros_like(ids) if segments is None else segments
        x = self.embedding(ids) + tap(self, "segments", F.embedding(segments, self.segments))
        return self.encoder(x, real_tokens(ids, self.config.special.pad))

    def fill(self, hidden: Float[Tensor, "*B d"]) -> Float[Tensor, "*B V"]:
        """A score for each word of the vocabulary; [MASK] is among them only if it is a word of it.

        Raises:
            ValueError: the model was made without this head.
        """
        if not self.config.fills:
            raise ValueError("this BERT fills no gaps: it has no head for it (fills is false)")
        inner = self.fill_norm(tap(self, "fill_inner", F.gelu(self.fill_inner(hidden))))
        words = self.embedding.weight[: self.config.vocab]
        return tap(self, "fill", F.linear(inner, words, self.fill_bias))

    def classify(self, hidden: Float[Tensor, "B L d"]) -> Float[Tensor, "B C"]:
        """A score for each label of the whole text.

        Raises:
            ValueError: the model was made without this head.
        """
        if not self.config.labels:
            raise ValueError("this BERT labels no texts: it has no head for it (labels is false)")
        pooled = tap(self, "pooled", self.pool(hidden[:, 0]).tanh())
        return tap(self, "label", self.label(self.dropout(pooled)))

    def forward(self, ids: Int[Tensor, "B L"], segments: Int[Tensor, "B L"] | None = None) -> Float[Tensor, "B L V"]:
        """What may stand at each place."""
        return self.fill(self.hidden(ids, segments))
