"""What every config shares: unknown keys and infinite numbers are errors, and nothing changes after it is made."""

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A typed, validated, frozen description of a part; its `build()` makes the part."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)
