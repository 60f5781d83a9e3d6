"""Who trains against us: translators of other libraries, of the same size, as what gives logits.

Ours, Marian and JoeyNMT (`joeynmt.py`) have the same weights. torch.nn.Transformer and x-transformers draw their own:
the one draws in another order, the other's attention has no biases, and its sinusoid a learned factor.
"""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.bench.engines import marian
from prosector.config.transformer import TransformerConfig
from prosector.interop.engines.needed import needed
from prosector.models.transformer import Transformer
from prosector.positions.sinusoidal import sinusoid


class TorchTranslator(nn.Module):
    """torch.nn.Transformer with a tied table and the same sinusoid."""

    def __init__(self, config: TransformerConfig, longest: int) -> None:
        super().__init__()
        d = config.d_model
        self.scale = d**0.5
        self.table = nn.Embedding(config.source_vocab, d)
        nn.init.normal_(self.table.weight, std=d**-0.5)
        layers = config.encoder_layers, config.decoder_layers
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="enable_nested_tensor")
            self.core = nn.Transformer(
                d, config.n_heads, *layers, config.d_ff, dropout=config.dropout, batch_first=True
            )
        for part in self.core.modules():  # it would drop attention weights and hidden values too
            if isinstance(part, nn.MultiheadAttention):
                part.dropout = 0.0
            elif isinstance(part, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                part.dropout.p = 0.0
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("positions", sinusoid(torch.arange(longest), d, "half-split"))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x = self.dropout(self.table(src) * self.scale + self.positions)
        y = self.dropout(self.table(tgt) * self.scale + self.positions)
        length = tgt.shape[1]
        causal, padding = torch.ones(length, length, dtype=torch.bool).triu(1), src == 0
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        return F.linear(self.core(x, y, tgt_mask=causal, tgt_is_causal=True, **masks), self.table.weight)


class XTransformer(nn.Module):
    """An encoder and a decoder of x-transformers: post-norm, ReLU, one tied table."""

    def __init__(self, config: TransformerConfig, longest: int, flash: bool) -> None:
        """
        Args:
            config: the size.
            longest: how many tokens a side has.
            flash: whether attention is PyTorch's fused one.

        Raises:
            ImportError: it is not installed.
        """
        super().__init__()
        with warnings.catch_warnings():  # of torch.jit, which it uses
            warnings.simplefilter("ignore", DeprecationWarning)
            theirs = needed("x_transformers")
        rate = config.dropout
        layers = {
            "dim": config.d_model,
            "heads": config.n_heads,
            "attn_dim_head": config.d_model // config.n_heads,
            "attn_flash": flash,
            "attn_sublayer_dropout": rate,
            "ff_mult": config.d_ff / config.d_model,
            "ff_custom_activation": nn.ReLU(),
            "ff_sublayer_dropout": rate,
            "pre_norm": False,
        }
        both = {"num_tokens": config.source_vocab, "max_seq_len": longest, "emb_dropout": rate}
        both["scaled_sinu_pos_emb"] = True
        encoder = theirs.Encoder(depth=config.encoder_layers, **layers)
        decoder = theirs.Decoder(depth=config.decoder_layers, cross_attend=True, **layers)
        self.encoder = theirs.TransformerWrapper(attn_layers=encoder, return_only_embed=True, **both)
        table = self.encoder.token_emb
        self.decoder = theirs.TransformerWrapper(attn_layers=decoder, token_emb=table, tie_embedding=True, **both)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        real = src != 0
        return self.decoder(tgt, context=self.encoder(src, mask=real), context_mask=real)


class Marian(nn.Module):
    """Hugging Face's, with our weights."""

    def __init__(self, ours: Transformer, attention: str) -> None:
        """
        Args:
            ours: whose weights it gets.
            attention: `eager` or `sdpa`.

        Raises:
            ImportError: transformers is not installed.
        """
        from prosector.interop.hugging_face.exporting import to_hugging_face

        super().__init__()
        self.core: Any = marian(*to_hugging_face(ours), attn_implementation=attention)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        mask = (src != 0).long()
        return self.core(input_ids=src, attention_mask=mask, decoder_input_ids=tgt, use_cache=False).logits
