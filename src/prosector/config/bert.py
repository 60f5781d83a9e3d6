"""BERT, described: a model that reads in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from prosector.config.layer import Activation, LayerConfig
from prosector.config.position import LearnedPositionConfig, PositionConfig
from prosector.config.tokens import TokensConfig

if TYPE_CHECKING:
    from prosector.models.bert import Bert


class BertConfig(LayerConfig, TokensConfig):
    """One stack of layers that look at everything, one vocabulary, and what is asked of them."""

    kind: Literal["bert"] = Field("bert", description="the architecture")
    vocab: int = Field(8000, gt=4, description="entries of the vocabulary; [MASK] is one more, or one of them")
    layers: int = Field(4, gt=0, description="layers of the stack")
    n_segments: int = Field(2, gt=0, description="kinds of segments, such as the two sentences of a pair")
    mask_row: bool = Field(True, description="whether [MASK] has a row of its own, after the vocabulary's")
    fills: bool = Field(True, description="whether it has a head that fills gaps")
    labels: bool = Field(True, description="whether it has a head that labels texts")
    n_labels: int = Field(
        2, gt=1, description="labels that a text as a whole can have; 2 for: do these two belong together?"
    )
    activation: Activation = Field("gelu", description="what is inside a feed-forward network")
    position: PositionConfig = Field(LearnedPositionConfig(max_length=512), description="the position encoding")

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"A BERT of {self.layers} layers, d_model {self.d_model}, {self.n_heads} heads, d_ff {self.d_ff}, "
            f"{self.norm_placement}-norm, {self.position.kind} positions"
        )

    def build(self) -> Bert:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.bert import Bert

        return Bert(self)
