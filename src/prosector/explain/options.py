"""How a run is asked for: the text, the search, and what is changed. What comes from a browser is checked here."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, ValidationError

from prosector.config.base import Config
from prosector.config.run import explain
from prosector.explain.change import Change

Name = Annotated[str, Field(max_length=200)]


class RunOptions(Config):
    """One run of a model."""

    text: str = Field(max_length=10_000, description="what the model reads")
    beam: int = Field(4, ge=1, le=16, description="hypotheses followed at once; 1 is greedy")
    alpha: float = Field(1.0, ge=0, le=10, description="a hypothesis scores Σ log p / length^alpha")
    temperature: float | None = Field(None, gt=0, le=100, description="draw from p^(1/temperature) instead")
    seed: int = Field(0, ge=0, le=2**31, description="of the draws")
    prefix: tuple[int, ...] = Field((), max_length=200, description="the ids that the target has to begin with")
    mask_off: bool = Field(False, description="without the decoder's causal mask")
    positions_off: bool = Field(False, description="without positions")
    heads_off: tuple[tuple[Name, int], ...] = Field((), max_length=1000, description="heads that find nothing")

    @property
    def change(self) -> Change:
        """What is taken away from the model."""
        return Change(self.mask_off, self.positions_off, self.heads_off)


def options_from(given: Any) -> RunOptions:
    """The options that somebody asks for.

    Raises:
        ValueError: a field that does not exist, or an impossible value; named in one line.
    """
    try:
        return RunOptions.model_validate(given)
    except ValidationError as error:
        raise ValueError(explain(error, "the request").replace("the request: the file: ", "the request: ")) from error
