"""The encoder-decoder Transformer, described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from prosector.config.layer import LayerConfig
from prosector.config.tokens import TokensConfig
from prosector.config.vocabularies import VocabulariesConfig

if TYPE_CHECKING:
    from prosector.models.transformer import Transformer


class TransformerConfig(LayerConfig, TokensConfig, VocabulariesConfig):
    """Two stacks of layers, two vocabularies."""

    kind: Literal["transformer"] = Field("transformer", description="the architecture")
    encoder_layers: int = Field(3, gt=0, description="layers of the encoder")
    decoder_layers: int = Field(3, gt=0, description="layers of the decoder")
    output_bias: bool = Field(False, description="whether each word has a bias of its own, as in Marian's models")
    scale_output: bool = Field(False, description="whether the last vectors are divided by √d_model, as in T5")

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"A Transformer of {self.encoder_layers} + {self.decoder_layers} layers, d_model {self.d_model}, "
            f"{self.n_heads} heads, d_ff {self.d_ff}, {self.norm_placement}-norm, {self.position.kind} positions"
        )

    def build(self) -> Transformer:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.transformer import Transformer

        return Transformer(self)
