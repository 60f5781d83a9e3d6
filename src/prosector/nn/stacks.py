"""`TransformerEncoder`, `TransformerDecoder` and `Transformer` with torch.nn's names, arguments and defaults."""

import copy
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.blocks import LayerNorm
from prosector.nn.layers import Activation, TransformerDecoderLayer, TransformerEncoderLayer


def layers_like(layer: nn.Module, number: int) -> nn.ModuleList:
    """Copies of a layer, the first with its weights, the others each with new ones of their own.

    Copies of the same weights would get the same gradients at first and learn much the same. A module in the
    layer that has no `reset_parameters` keeps what it has.
    """
    layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(number))
    for other in layers[1:]:
        for module in reversed(list(other.modules())):  # parts first: attention sets its output's bias to zero
            if callable(reset := getattr(module, "reset_parameters", None)):
                reset()
    return layers


class TransformerEncoder(nn.Module):
    """Encoder layers on top of each other, and a norm at the end if one is given.

    Args:
        encoder_layer: the layer to be copied; the copies after the first begin with weights of their own.
        num_layers: how many.
        norm: the last norm.
        enable_nested_tensor: taken and not needed; padding is computed like anything else.
        mask_check: likewise.

    Raises:
        ValueError: a decoder layer, which needs a memory.
    """

    def __init__(
        self,
        encoder_layer: nn.Module,
        num_layers: int,
        norm: nn.Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        if isinstance(encoder_layer, TransformerDecoderLayer):
            raise ValueError("an encoder is built from a TransformerEncoderLayer; a decoder layer needs a memory")
        self.layers = layers_like(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """All layers, first to last; is_causal=None means that the mask alone decides."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(nn.Module):
    """Decoder layers on top of each other, and a norm at the end if one is given.

    Args:
        decoder_layer: the layer to be copied; the copies after the first begin with weights of their own.
        num_layers: how many.
        norm: the last norm.

    Raises:
        ValueError: an encoder layer, which cannot look at a memory.
    """

    def __init__(self, decoder_layer: nn.Module, num_layers: int, norm: nn.Module | None = None) -> None:
        super().__init__()
        if isinstance(decoder_layer, TransformerEncoderLayer):
            raise ValueError("a decoder is built from a TransformerDecoderLayer; an encoder layer looks at no memory")
        self.layers = layers_like(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """All layers, first to last; tgt_is_causal=None means that the mask alone decides."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(nn.Module):
    """An encoder and a decoder over vectors: embeddings, positions and the output table are the caller's.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as for the
            layers.
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        custom_encoder: stands in the encoder's place, called with torch.nn's arguments.
        custom_decoder: stands in the decoder's place.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)

        def last_norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias).to(**made)

        self.encoder, self.decoder = custom_encoder, custom_decoder
        if custom_encoder is None:
            encoder_layer = TransformerEncoderLayer(*shape, **made)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, last_norm())
        if custom_decoder is None:
            decoder_layer = TransformerDecoderLayer(*shape, **made)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, last_norm())
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        for weight in self.parameters():
            if weight.ndim > 1:
                nn.init.xavier_uniform_(weight)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode `src`, and decode `tgt` over what came of it; lengths may differ, batches may not.

        Raises:
            ValueError: other features than d_model, or batches of different sizes.
        """
        rows = 0 if self.batch_first else 1
        if src.ndim == tgt.ndim == 3 and src.shape[rows] != tgt.shape[rows]:
            raise ValueError(
                f"src has {src.shape[rows]} rows and tgt {tgt.shape[rows]} (batch_first={self.batch_first}); "
                "the batch must be the same"
            )
        for name, x in (("src", src), ("tgt", tgt)):
            if x.shape[-1] != self.d_model:
                raise ValueError(f"{name} has {x.shape[-1]} features, and the model d_model={self.d_model}")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: torch.dtype | None = None) -> Tensor:
        """The causal mask to be added: 0 where key ≤ query, -inf ahead, [sz, sz]."""
        return torch.full((sz, sz), -torch.inf, device=device, dtype=dtype).triu(1)
