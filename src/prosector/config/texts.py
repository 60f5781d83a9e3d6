"""Which texts to learn from, described: for models that write, and for models that read."""

from __future__ import annotations

from pydantic import Field

from prosector.config.base import Config


class TextFileConfig(Config):
    """One text: the lines of a file, or one column of a table."""

    path: str = Field(
        description="any UTF-8 text; .gz and .xz are unpacked; a relative path is looked for in $PROSECTOR_DATA, then "
        "here, then beside the presets"
    )
    column: int | None = Field(None, ge=1, description="of a table, its columns between tabs: which one, from 1")
    origin: str = Field("", description="what it is and where it comes from, for the model's README")
    licence: str = Field("", description="under which it may be used, for the model's README")


class TextsConfig(Config):
    """The texts, and how they are cut into batches."""

    train: tuple[TextFileConfig, ...] = Field((), description="the texts to train on")
    dev: tuple[TextFileConfig, ...] = Field(
        (), description="the texts to choose on; without any, the last twentieth of each text of train"
    )
    context: int = Field(128, gt=1, description="tokens that are read at once")
    batch_tokens: int = Field(4096, gt=0, description="tokens of a batch")
