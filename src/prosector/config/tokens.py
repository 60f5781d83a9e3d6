"""How tokens enter a model that reads or writes texts."""

from __future__ import annotations

from pydantic import Field

from prosector.config.base import Config
from prosector.config.special import SpecialIds


class TokensConfig(Config):
    """The embedding's scale and norm, and the ids that are no text."""

    scale_embedding: bool = Field(True, description="whether embeddings are multiplied by √d_model")
    embedding_norm: bool = Field(False, description="a norm on embeddings and positions together, as in BERT and BLOOM")
    special: SpecialIds = Field(SpecialIds(), description="the ids that are no text; an imported model has its own")
