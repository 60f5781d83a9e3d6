"""Runs of a model that reads, described: first it fills gaps, then it learns to tell texts apart."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from prosector.config.base import Config
from prosector.config.bert import BertConfig
from prosector.config.data import FileConfig, Language
from prosector.config.model import require_room
from prosector.config.text import TokenizerConfig
from prosector.config.texts import TextFileConfig
from prosector.config.training import TrainingConfig


class PiecesConfig(TokenizerConfig):
    """One vocabulary of pieces for all that is read."""

    kind: Literal["unigram", "bpe"] = Field("unigram", description="how words are cut into pieces")
    joint: Literal[True] = Field(True, description="one vocabulary for both languages")


class ReadingDataConfig(Config):
    """Sentence pairs; the model reads both sides at once."""

    source: Language = Field("zh", description="the language of the first sentence")
    target: Language = Field("en", description="the language of the second")
    train: tuple[FileConfig, ...] = Field((), description="the sentence pairs to train on")
    dev: tuple[FileConfig, ...] = Field((), description="those to choose on; without any, some of train by lot")
    simplify: bool = Field(False, description="turn traditional Chinese into simplified (OpenCC, the extra [formats])")
    max_tokens: int = Field(128, gt=4, description="longer pairs, both sides together, are left out")
    batch_tokens: int = Field(4096, gt=0, description="tokens of a batch, padding counted")
    alone: float = Field(0.25, ge=0, le=1, description="share of the pairs of which one sentence is read alone")
    masked: float = Field(0.15, gt=0, lt=1, description="share of the tokens that are asked for")
    as_mask: float = Field(0.8, ge=0, le=1, description="of these the share that becomes [MASK]")
    as_other: float = Field(0.1, ge=0, le=1, description="of these the share that becomes any token; the rest stays")

    @model_validator(mode="after")
    def _shares(self) -> Self:
        if self.as_mask + self.as_other > 1:
            raise ValueError(f"as_mask={self.as_mask:g} and as_other={self.as_other:g} are more than all")
        return self


class ReadingConfig(Config):
    """Learning to read: gaps are filled, and pairs told from what does not belong together."""

    description: str = Field("", description="one line that says what this is for")
    model: BertConfig = Field(BertConfig(), description="the architecture")
    tokenizer: PiecesConfig = Field(PiecesConfig(), description="how text becomes ids")
    data: ReadingDataConfig = Field(ReadingDataConfig(), description="the sentence pairs")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        require_room(self.model, self.data.max_tokens)
        if self.model.n_labels != 2 or self.model.n_segments < 2:
            raise ValueError("pairs need model.n_segments of 2 or more and model.n_labels=2: belong together, or not")
        return self


class LabelledDataConfig(Config):
    """Texts of several kinds, each line an example."""

    labels: dict[str, TextFileConfig] = Field({}, description="a text for each label, two at least")
    each: int = Field(50, gt=0, description="lines of each label to train on")
    dev: int = Field(50, gt=0, description="lines of each label to choose on")
    test: int = Field(200, ge=0, description="lines of each label that are never seen, for the end")
    max_tokens: int = Field(128, gt=2, description="longer lines are cut")
    batch: int = Field(32, gt=0, description="lines of a batch")


class LabellingConfig(Config):
    """Learning which of several kinds a text is of; with --from a model that has learned to read."""

    description: str = Field("", description="one line that says what this is for")
    model: BertConfig = Field(BertConfig(), description="the architecture")
    tokenizer: PiecesConfig = Field(PiecesConfig(), description="how text becomes ids")
    data: LabelledDataConfig = Field(description="the texts")
    training: TrainingConfig = Field(TrainingConfig(), description="the loop")

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        require_room(self.model, self.data.max_tokens)
        return self
