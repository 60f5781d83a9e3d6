"""GPT, described: a model that only writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from prosector.config.layer import LayerConfig
from prosector.config.tokens import TokensConfig

if TYPE_CHECKING:
    from prosector.models.gpt import Gpt


class GptConfig(LayerConfig, TokensConfig):
    """One stack of layers that look back, and one vocabulary."""

    kind: Literal["gpt"] = Field("gpt", description="the architecture")
    vocab: int = Field(8000, gt=4, description="entries of the vocabulary")
    layers: int = Field(4, gt=0, description="layers of the stack")
    tie: bool = Field(True, description="whether the embedding is the output's table too")

    def summary(self) -> str:
        """What it is, for people."""
        return (
            f"A GPT of {self.layers} layers, d_model {self.d_model}, {self.n_heads} heads, d_ff {self.d_ff}, "
            f"{self.norm_placement}-norm, {self.position.kind} positions"
        )

    def build(self) -> Gpt:
        """The model, with fresh weights from PyTorch's generator."""
        from prosector.models.gpt import Gpt

        return Gpt(self)
