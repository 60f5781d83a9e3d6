"""The encoder-decoder Transformer, described."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from prosector.config.layer import LayerConfig

if TYPE_CHECKING:
    from prosector.models.transformer import Transformer


class TransformerConfig(LayerConfig):
    """Two stacks of layers, two vocabularies, and which tables they share."""

    kind: Literal["transformer"] = Field("transformer", description="the architecture")
    source_vocab: int = Field(8000, gt=4, description="entries of the source's vocabulary")
    target_vocab: int = Field(8000, gt=4, description="entries of the target's vocabulary")
    encoder_layers: int = Field(3, gt=0, description="layers of the encoder")
    decoder_layers: int = Field(3, gt=0, description="layers of the decoder")
    tie: Literal["none", "target", "all"] = Field(
        "target", description="tables that are one: none; the target's with the output's; the source's too"
    )

    @model_validator(mode="after")
    def _tables_fit(self) -> TransformerConfig:
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f'tie="all" needs one vocabulary for both sides, not {self.source_vocab} and {self.target_vocab} '
                'entries; train a joint tokenizer, or use tie="target"'
            )
        return self

    def build(self) -> Transformer:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.transformer import Transformer

        return Transformer(self)
