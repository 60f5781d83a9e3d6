"""How a target is searched for or drawn, described."""

from __future__ import annotations

from typing import Literal, Self, TypedDict

from pydantic import Field, ValidationError, model_validator

from prosector.config.base import Config
from prosector.config.run import explain

BEAM = 4


class DecodingConfig(Config):
    """The search: by default a beam of 4. A field about sampling, if given, makes it draw instead."""

    beam: int | None = Field(
        None,
        ge=1,
        le=256,
        description=f"hypotheses followed at once, 256 at most; 1 is greedy; {BEAM} if not given, unless it samples",
    )
    alpha: float = Field(
        1.0, ge=0, le=10, description="a hypothesis scores Σ log p / length^alpha; 0 prefers short ones"
    )
    n_best: int = Field(1, ge=1, description="hypotheses to return; at most as many as the beam holds")
    max_length: int | None = Field(
        None,
        ge=1,
        le=100_000,
        description="the longest translation of a sentence, in tokens; 2 · source + 10 if not given",
    )
    by_sentence: bool = Field(
        True,
        description="translate each sentence of a line by itself; if not, only where a line is longer than in training",
    )
    repetition_guard: bool = Field(True, description="forbid a third copy in a row of what the source says once")
    temperature: float | None = Field(
        None, gt=0, description="sample from p^(1/temperature): below 1 sharper, above 1 flatter"
    )
    top_k: int | None = Field(None, ge=1, description="sample among the so many likeliest tokens")
    top_p: float | None = Field(
        None, gt=0, le=1, description="sample among the likeliest tokens that together have this probability"
    )
    seed: int | None = Field(None, ge=0, description="sample; a text and a seed give the same again; 0 if not given")
    shortlist: bool = Field(
        False, description="write only words that can translate the source's; needs the native core and a shortlist"
    )
    batch_tokens: int = Field(4096, gt=0, description="source tokens of a batch times the beam, padding counted")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        sampling = self._sampling()
        if sampling and self.beam is not None:
            raise ValueError(
                f"beam={self.beam} searches for the most probable and {sampling} draws by chance; leave one out"
            )
        if sampling and self.n_best > 1:
            raise ValueError(
                f"n_best={self.n_best} ranks what a beam finds and {sampling} draws by chance; leave one out"
            )
        if not sampling and self.n_best > self.size:
            raise ValueError(f"n_best={self.n_best} is more than beam={self.size} holds; raise beam, or lower n_best")
        return self

    def _sampling(self) -> str:
        given = {name: getattr(self, name) for name in ("temperature", "top_k", "top_p", "seed")}
        return ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)

    @property
    def method(self) -> Literal["greedy", "beam", "sampling"]:
        """How the next word is chosen."""
        if self._sampling():
            return "sampling"
        return "greedy" if self.beam == 1 else "beam"

    @property
    def size(self) -> int:
        """How many hypotheses of a source are followed at once."""
        return 1 if self._sampling() else self.beam or BEAM


class DecodingFields(TypedDict, total=False):
    """The fields of `DecodingConfig`, so that functions can take them by name."""

    beam: int | None
    alpha: float
    n_best: int
    max_length: int | None
    by_sentence: bool
    repetition_guard: bool
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    shortlist: bool
    batch_tokens: int


def decoding_from(config: DecodingConfig | None, fields: DecodingFields) -> DecodingConfig:
    """A config (the default one if None), with some fields given otherwise.

    Raises:
        ValueError: a field that does not exist, or a value or combination that is impossible; all are named.
    """
    given = {} if config is None else config.model_dump(exclude_defaults=True)
    try:
        return DecodingConfig.model_validate(given | dict(fields))
    except ValidationError as error:
        raise ValueError(explain(error, "decoding").replace(": the file: ", ": ")) from error
