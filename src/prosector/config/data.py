"""Which sentence pairs to train on, described."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from prosector.config.base import Config

Language = Literal["zh", "en"]


class FileConfig(Config):
    """One corpus: a table with a column a language, or two files side by side."""

    path: str | tuple[str, str] = Field(
        description="a .tsv file, or the source's and the target's file; .gz and .xz are unpacked; "
        "a relative path is looked for in $PROSECTOR_DATA, then here, then beside the presets"
    )
    columns: tuple[str, ...] = Field(("en", "zh"), description="what the table's first columns hold; more are ignored")
    weight: float = Field(1.0, gt=0, description="how often an epoch goes through it; 0.25: another quarter each time")

    origin: str = Field("", description="what it is and where it comes from, for the model's README")
    licence: str = Field("", description="under which it may be used, for the model's README")

    @field_validator("columns")
    @classmethod
    def _two_columns(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        if len(columns) < 2 or len(set(columns)) < len(columns):
            raise ValueError(f"columns={list(columns)}: name two columns or more, each once")
        return columns


class DataConfig(Config):
    """The languages, the corpora, and how they are cut into batches."""

    source: Language = Field("zh", description="the language to translate from")
    target: Language = Field("en", description="the language to translate to")
    train: tuple[FileConfig, ...] = Field((), description="the corpora to train on")
    dev: tuple[FileConfig, ...] = Field(
        (), description="the corpora to choose on; without any, pairs of train are held out by lot, 1,000 at most"
    )
    max_tokens: int = Field(128, gt=1, description="pairs with a longer side, in tokens, are left out of training")
    batch_tokens: int = Field(4096, gt=0, description="tokens of a batch's longer side, padding counted")
    source_eos: bool = Field(True, description="whether the source ends with <eos>")
    simplify: bool = Field(False, description="turn traditional Chinese into simplified (OpenCC, the extra [formats])")
    sampling: float | None = Field(
        None, ge=0, description="unigram only: cut the source another way in each epoch, P(cut) to this power"
    )

    @model_validator(mode="after")
    def _two_languages(self) -> DataConfig:
        if self.source == self.target:
            raise ValueError(f"source and target are both {self.source!r}; a translator needs two languages")
        for file in self.train + self.dev:
            missing = {self.source, self.target} - set(file.columns)
            if isinstance(file.path, str) and missing:
                raise ValueError(f"{file.path}: columns={list(file.columns)} has no {' and no '.join(sorted(missing))}")
        return self
