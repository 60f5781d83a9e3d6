"""The two vocabularies of a translator, and which of its tables are one."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from prosector.config.base import Config


class VocabulariesConfig(Config):
    """Entries and ties, for every model that reads one language and writes another."""

    source_vocab: int = Field(
        8000, gt=4, description="entries of the source's vocabulary; in training those of its tokenizer"
    )
    target_vocab: int = Field(8000, gt=4, description="entries of the target's vocabulary; likewise")
    tie: Literal["none", "target", "all"] = Field(
        "target", description="tables that are one: none; the target's with the output's; the source's too"
    )

    @model_validator(mode="after")
    def _tables_fit(self) -> Self:
        if self.tie == "all" and self.source_vocab != self.target_vocab:
            raise ValueError(
                f'tie="all" needs one vocabulary for both sides, not {self.source_vocab} and {self.target_vocab} '
                'entries; train a joint tokenizer, or use tie="target"'
            )
        return self
