"""Where a translation's words looked in its source, for people to see."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from prosector.config.decoding import DecodingConfig
from prosector.config.special import first_id
from prosector.config.transformer import TransformerConfig
from prosector.data.batching import pad
from prosector.decoding import Translator, greedy
from prosector.observe import observe


class Looks(NamedTuple):
    """The cross-attention of one sentence: of each head, a row for each word written, a column for each word read."""

    weights: Float[Tensor, "H Lq Lk"]
    written: list[str]
    read: list[str]
    translation: str


@torch.inference_mode()
def look(translator: Translator, text: str) -> Looks:
    """Translate greedily, and observe the decoder's last layer; a word's row is that of the step that wrote it."""
    src_ids = translator.ids(text)
    [found] = greedy(translator.model, pad([src_ids]), translator.longest_target(len(src_ids), DecodingConfig()))
    model = translator.config.model
    if not isinstance(model, TransformerConfig):
        raise ValueError(f"only a Transformer has cross-attention to look at; this is of the kind {model.kind}")
    address = f"decoder.{model.decoder_layers - 1}.cross.weights"
    with observe(translator.model, keep=[address]) as seen:
        translator.model(pad([src_ids]), pad([[first_id(translator.special), *found.ids]]))
    return Looks(
        seen[address][0],
        [shown(translator.target.piece(id)) for id in [*found.ids, *translator.special.ends[:1]]],
        [shown(translator.source.piece(id)) for id in src_ids],
        translator.target.decode(found.ids),
    )


def shown(piece: str) -> str:
    """A piece without the mark of the space before it."""
    return piece.lstrip("▁") or "▁"
