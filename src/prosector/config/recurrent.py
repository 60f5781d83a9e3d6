"""The translators before the Transformer, described: two recurrent networks, without attention and with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from prosector.config.vocabularies import VocabulariesConfig

if TYPE_CHECKING:
    from prosector.models.rnn import RnnTranslator
    from prosector.models.rnn_attention import RnnAttentionTranslator


class RecurrentConfig(VocabulariesConfig):
    """What both have."""

    cell: Literal["lstm", "gru"] = Field("lstm", description="what remembers")
    d_model: int = Field(
        256, gt=0, description="features of a token, and of what the output's table is multiplied with"
    )
    d_hidden: int = Field(512, gt=0, description="features of a state")
    dropout: float = Field(
        0.2, ge=0, lt=1, description="share of values dropped after embeddings, between layers, before the output"
    )


class RnnConfig(RecurrentConfig):
    """Two recurrent networks joined by one vector (Cho et al. 2014; Sutskever et al. 2014)."""

    kind: Literal["rnn"] = Field("rnn", description="the architecture")
    layers: int = Field(2, gt=0, description="layers of the encoder, and of the decoder that goes on from its states")
    context_at_every_step: bool = Field(
        True, description="whether the decoder reads the encoder's last state with every word, or begins with it only"
    )

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"Two recurrent networks of {self.layers} {self.cell.upper()} layers each, d_model {self.d_model}, "
            f"d_hidden {self.d_hidden}, joined by one state{', read at every step' * self.context_at_every_step}"
        )

    def build(self) -> RnnTranslator:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.rnn import RnnTranslator

        return RnnTranslator(self)


class RnnAttentionConfig(RecurrentConfig):
    """An encoder that reads both ways, and a decoder that looks back at all of it (Bahdanau et al. 2015)."""

    kind: Literal["rnn-attention"] = Field("rnn-attention", description="the architecture")
    encoder_layers: int = Field(1, gt=0, description="layers of the encoder, in each direction")
    decoder_layers: int = Field(1, gt=0, description="layers of the decoder")
    d_attention: int = Field(256, gt=0, description="features of the small network that compares")

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"A bidirectional encoder of {self.encoder_layers} {self.cell.upper()} layers, additive attention, and a "
            f"decoder of {self.decoder_layers}; d_model {self.d_model}, d_hidden {self.d_hidden}"
        )

    def build(self) -> RnnAttentionTranslator:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.rnn_attention import RnnAttentionTranslator

        return RnnAttentionTranslator(self)
