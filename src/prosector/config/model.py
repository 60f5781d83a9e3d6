"""Which translator, as a config: one class a kind, told apart by `kind`; without one it is the Transformer.

[model]
kind = "rnn-attention"
cell = "gru"
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Tag

from prosector.config.base import Config, kind_or
from prosector.config.layer import LayerConfig
from prosector.config.recurrent import RnnAttentionConfig, RnnConfig
from prosector.config.transformer import TransformerConfig

TRANSLATORS = ("transformer", "rnn", "rnn-attention")


UNLIMITED = 2**62


def n_positions(model: Config) -> int:
    """How many positions a model's encoding can tell apart; most have no end, and recurrent models need none."""
    if not isinstance(model, LayerConfig):
        return UNLIMITED
    match model.position.kind:
        case "learned":
            return model.position.max_length  # type: ignore[union-attr]
        case "one-hot":
            return model.d_model
        case "binary":
            return 2 ** min(model.d_model, 62) - 1
        case _:
            return UNLIMITED


def require_room(model: Config, max_tokens: int) -> None:
    """A model has a position for every token it is trained on.

    Raises:
        ValueError: it has fewer.
    """
    if n_positions(model) < max_tokens:
        raise ValueError(
            f"the model has {n_positions(model)} positions, and data.max_tokens={max_tokens} lets in longer sentences; "
            "lower it, or choose a position encoding that goes as far"
        )


TranslatorConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")]
    | Annotated[RnnConfig, Tag("rnn")]
    | Annotated[RnnAttentionConfig, Tag("rnn-attention")],
    Discriminator(
        kind_or("transformer"),
        custom_error_type="translator_kind",
        custom_error_message=f"unknown kind of translator; allowed are {', '.join(TRANSLATORS)}",
    ),
]
