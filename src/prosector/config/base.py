"""What every config shares: unknown keys and infinite numbers are errors, and nothing changes after it is made."""

from collections.abc import Callable

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """A typed, validated, frozen description of a part; its `build()` makes the part."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, allow_inf_nan=False)


def kind_or(default: str) -> Callable[[object], str]:
    """What tells configs apart that can stand in one place: their `kind`, of one that does not say the default."""

    def kind_of(value: object) -> str:
        found = value.get("kind", default) if isinstance(value, dict) else getattr(value, "kind", default)
        return str(found)

    return kind_of
