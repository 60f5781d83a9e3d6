"""Which position encoding, as a config: one class a kind, each with `build()`.

    position = "rope"                                   # the kind alone, with its defaults
    position = { kind = "yarn", factor = 8.0 }
    position = { kind = "Mine", options = { size = 2 } }  # a class of the user's own, once registered

A field of the type `PositionConfig` takes any of these.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from prosector.config.base import Config

if TYPE_CHECKING:
    from prosector.positions import Position

# The same two as prosector.positions.Layout, which cannot be imported here without torch.
Layout = Literal["interleaved", "half-split"]

BUILT_IN = ("none", "binary", "one-hot", "sinusoidal", "learned", "rope", "yarn", "alibi", "t5")
SIZES = ("d_model", "n_heads", "d_head", "bidirectional")

PART = "prosector_part_"  # the module of a user's own file is called this and more

_registered: dict[str, type[Position]] = {}


def registered_positions() -> dict[str, type[Position]]:
    """The user's own position classes by name, in the order in which they were registered."""
    return dict(_registered)


def register_position(cls: type[Position]) -> type[Position]:
    """Let configs name a user's own position class by its class name; also a class decorator.

    Defining the same class again (a notebook's cell run twice) replaces the earlier one.

    Raises:
        ValueError: it is no `Position`, or its name is a built-in position's or another registered class's.
    """
    register_positions(cls)
    return cls


def register_positions(*classes: type[Position]) -> None:
    """Register several classes as `register_position` does: all of them, or none if one is refused."""
    import prosector.positions as built_in

    for cls in classes:
        name = cls.__name__
        if not issubclass(cls, built_in.Position):
            raise ValueError(f"{name} is no position: it must derive from prosector.positions.Position")
        if name in BUILT_IN or name in built_in.__all__:
            raise ValueError(f"a position of yours is called {name}, as a built-in one is; give it another name")
        known = _registered.get(name, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(f"two positions are called {name}, in {known.__module__} and {cls.__module__}; rename one")
    _registered.update({cls.__name__: cls for cls in classes})


class NoPositionConfig(Config):
    """No positions: attention sees a set (or, if causal, only how much lies behind it)."""

    kind: Literal["none"] = Field("none", description="the encoding")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import Position

        return Position()


class BinaryPositionConfig(Config):
    """Binary codes, added to the embedding."""

    kind: Literal["binary"] = Field("binary", description="the encoding")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import BinaryPosition

        return BinaryPosition()


class OneHotPositionConfig(Config):
    """One-hot codes, added to the embedding; as many positions as features."""

    kind: Literal["one-hot"] = Field("one-hot", description="the encoding")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import OneHotPosition

        return OneHotPosition()


class SinusoidalPositionConfig(Config):
    """Sines and cosines, added to the embedding (Vaswani et al. 2017)."""

    kind: Literal["sinusoidal"] = Field("sinusoidal", description="the encoding")
    layout: Layout = Field("interleaved", description="a cosine beside its sine, or all sines first (Marian)")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import SinusoidalPosition

        return SinusoidalPosition(self.layout)


class LearnedPositionConfig(Config):
    """A learned table, added to the embedding (BERT, GPT-2)."""

    kind: Literal["learned"] = Field("learned", description="the encoding")
    max_length: int = Field(512, ge=1, description="rows of the table: the longest text, in tokens")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import LearnedPosition

        return LearnedPosition(d_model, self.max_length)


class RopePositionConfig(Config):
    """Queries and keys turned by their positions (Su et al. 2021)."""

    kind: Literal["rope"] = Field("rope", description="the encoding")
    layout: Layout = Field("half-split", description="which features of a head make a pair")
    theta: float = Field(10000.0, gt=1, allow_inf_nan=False, description="base of the frequencies")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import RotaryPosition

        return RotaryPosition(d_head, self.theta, self.layout)


class YarnPositionConfig(Config):
    """RoPE stretched to texts longer than training's (Peng et al. 2023)."""

    kind: Literal["yarn"] = Field("yarn", description="the encoding")
    layout: Layout = Field("half-split", description="which features of a head make a pair")
    theta: float = Field(10000.0, gt=1, allow_inf_nan=False, description="base of the frequencies")
    factor: float = Field(4.0, ge=1, allow_inf_nan=False, description="how many times longer texts become")
    original_max_positions: int = Field(512, ge=1, description="the length of text, in tokens, trained on before")
    beta_fast: float = Field(
        32.0, gt=0, allow_inf_nan=False, description="pairs with so many turns in that length keep their speed"
    )
    beta_slow: float = Field(
        1.0, gt=0, allow_inf_nan=False, description="pairs with so few turns are slowed down by the whole factor"
    )
    attention_factor: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="multiplies cos and sin; derived from the factor if left out"
    )
    mscale: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="sharpens with the factor, with mscale_all_dim (DeepSeek)"
    )
    mscale_all_dim: float | None = Field(
        None, gt=0, allow_inf_nan=False, description="divides what mscale gives, with mscale (DeepSeek)"
    )

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.beta_fast <= self.beta_slow:
            raise ValueError(f"beta_fast ({self.beta_fast}) must be above beta_slow ({self.beta_slow})")
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise ValueError("mscale and mscale_all_dim divide each other: give both or neither")
        if self.attention_factor is not None and self.mscale is not None:
            raise ValueError("attention_factor and mscale both say how much to sharpen: give one or the other")
        return self

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import YarnPosition

        return YarnPosition(d_head, **self.model_dump(exclude={"kind"}))


class AlibiPositionConfig(Config):
    """Scores lowered in proportion to the distance (Press et al. 2022)."""

    kind: Literal["alibi"] = Field("alibi", description="the encoding")

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import AlibiPosition

        return AlibiPosition(n_heads)


class T5PositionConfig(Config):
    """A learned number for each head and bucket of distances, added to the scores (Raffel et al. 2020)."""

    kind: Literal["t5"] = Field("t5", description="the encoding")
    num_buckets: int = Field(32, ge=4, multiple_of=2, description="rows of the table, both directions together")
    max_distance: int = Field(128, ge=2, description="in tokens; all distances from here on share a bucket")

    @model_validator(mode="after")
    def _agrees(self) -> Self:
        if self.max_distance <= self.num_buckets // 2:
            raise ValueError(
                f"max_distance ({self.max_distance}) must be above {self.num_buckets // 2}, half of num_buckets: "
                "nearer distances have a bucket each"
            )
        return self

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        from prosector.positions import T5Position

        return T5Position(
            n_heads, bidirectional=bidirectional, num_buckets=self.num_buckets, max_distance=self.max_distance
        )


class CustomPosition(Config):
    """A class of the user's own, built as `cls(d_model=…, n_heads=…, d_head=…, bidirectional=…, **options)`."""

    kind: str = Field(description="the name of a registered class")
    options: dict[str, Any] = Field(default_factory=dict, description="what else its constructor takes")

    @field_validator("kind")
    @classmethod
    def _is_registered(cls, kind: str) -> str:
        if kind not in _registered:
            raise _unknown(kind)
        return kind

    @field_validator("options")
    @classmethod
    def _leaves_sizes_alone(cls, options: dict[str, Any]) -> dict[str, Any]:
        if given := [name for name in SIZES if name in options]:
            raise ValueError(f"{', '.join(given)} is given by the model and cannot be an option")
        return options

    def build(self, *, d_model: int, n_heads: int, d_head: int, bidirectional: bool) -> Position:
        """Build the user's class; one without a constructor of its own is built without arguments.

        Raises:
            ValueError: its constructor does not take these arguments, or a method does not keep to the shapes.
        """
        from prosector.positions.check import check_shapes

        position = self._construct(d_model=d_model, n_heads=n_heads, d_head=d_head, bidirectional=bidirectional)
        check_shapes(position, d_model, n_heads, d_head)
        return position

    def _construct(self, **sizes: int) -> Position:
        from torch import nn

        cls = _registered[self.kind]
        arguments = sizes | self.options
        if cls.__init__ is nn.Module.__init__ and not self.options:
            return cls()
        try:
            inspect.signature(cls).bind(**arguments)
        except TypeError as error:
            raise ValueError(
                f"{self.kind} cannot be built with {', '.join(arguments)}: {error}; its constructor must take "
                f"{', '.join(SIZES)} and the options (or end in **others)"
            ) from error
        return cls(**arguments)


def _unknown(kind: object) -> PydanticCustomError:
    allowed = ", ".join((*BUILT_IN, *_registered))
    return PydanticCustomError(
        "position_kind",
        "unknown position {kind}; allowed are {allowed}, and a class of your own once its file is loaded (--part FILE)",
        {"kind": repr(kind), "allowed": allowed},
    )


def _with_kind(value: object) -> object:
    """Take a bare name for a kind, and refuse one that does not exist before pydantic tries every class."""
    if isinstance(value, str):
        value = {"kind": value}
    if isinstance(value, dict) and "kind" not in value:
        raise PydanticCustomError("position_kind", "a position needs a kind, such as kind = 'sinusoidal'")
    if isinstance(value, dict) and value["kind"] not in (*BUILT_IN, *_registered):
        raise _unknown(value["kind"])
    return value


def _tag(value: object) -> str:
    kind = value.get("kind") if isinstance(value, dict) else getattr(value, "kind", None)
    return kind if kind in BUILT_IN else "custom"


PositionConfig = Annotated[
    Annotated[NoPositionConfig, Tag("none")]
    | Annotated[BinaryPositionConfig, Tag("binary")]
    | Annotated[OneHotPositionConfig, Tag("one-hot")]
    | Annotated[SinusoidalPositionConfig, Tag("sinusoidal")]
    | Annotated[LearnedPositionConfig, Tag("learned")]
    | Annotated[RopePositionConfig, Tag("rope")]
    | Annotated[YarnPositionConfig, Tag("yarn")]
    | Annotated[AlibiPositionConfig, Tag("alibi")]
    | Annotated[T5PositionConfig, Tag("t5")]
    | Annotated[CustomPosition, Tag("custom")],
    Discriminator(_tag),
    BeforeValidator(_with_kind),
]
