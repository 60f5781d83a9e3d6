"""Which translator, as a config: one class a kind, told apart by `kind`; without one it is the Transformer.

[model]
kind = "rnn-attention"
cell = "gru"
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Tag

from prosector.config.recurrent import RnnAttentionConfig, RnnConfig
from prosector.config.transformer import TransformerConfig

TRANSLATORS = ("transformer", "rnn", "rnn-attention")


def kind_of(value: object) -> str:
    """The kind that a config, or what shall become one, is of."""
    kind = value.get("kind", "transformer") if isinstance(value, dict) else getattr(value, "kind", "transformer")
    return str(kind)


TranslatorConfig = Annotated[
    Annotated[TransformerConfig, Tag("transformer")]
    | Annotated[RnnConfig, Tag("rnn")]
    | Annotated[RnnAttentionConfig, Tag("rnn-attention")],
    Discriminator(
        kind_of,
        custom_error_type="translator_kind",
        custom_error_message=f"unknown kind of translator; allowed are {', '.join(TRANSLATORS)}",
    ),
]
