"""How text becomes ids."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from prosector.config.base import Config


class TokenizerConfig(Config):
    """The tokenizers of a model, one for each language or one for both.

    `prosector.text.train_tokenizers` learns them from the training sentences.
    """

    kind: Literal["unigram", "bpe", "words", "characters"] = Field(
        "unigram",
        description="unigram or bpe cut words into pieces, so that nothing is unknown; words and characters do not",
    )
    vocab_size: int = Field(
        8000,
        ge=5,
        description="how many ids at most, the 4 special ones counted, and for unigram and bpe the 256 bytes",
    )
    joint: bool = Field(False, description="one vocabulary for both languages, which may then share an embedding")
    coverage: float | None = Field(
        None,
        gt=0,
        le=1,
        description="share of the text's characters that have a piece of their own, the rarer ones being spelled in "
        "bytes; nearly all if not given; only for unigram and bpe",
    )
    min_count: int = Field(1, ge=1, description="words or characters that occur less often are unknown")
    own_words: tuple[Annotated[str, Field(min_length=1, pattern=r"^[^\s▁](?:[^▁]*[^\s▁])?$")], ...] = Field(
        (), description="words that stay whole, such as 深度学习 or U-Net; only for words"
    )

    @model_validator(mode="after")
    def _only_what_the_kind_knows(self) -> Self:
        if self.own_words and self.kind != "words":
            raise ValueError(
                f"own_words is for kind 'words'; kind {self.kind!r} has no words to keep whole: leave it out"
            )
        if self.coverage is not None and self.kind not in ("unigram", "bpe"):
            raise ValueError(f"coverage is for unigram and bpe; kind {self.kind!r} has min_count: leave it out")
        if self.min_count > 1 and self.kind in ("unigram", "bpe"):
            raise ValueError(
                f"min_count is for words and characters; kind {self.kind!r} has vocab_size alone: leave it out"
            )
        return self
