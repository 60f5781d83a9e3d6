"""What every config shares: unknown keys are errors, and nothing changes after it is made."""

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A typed, validated, frozen description of a part; its `build()` makes the part."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)
