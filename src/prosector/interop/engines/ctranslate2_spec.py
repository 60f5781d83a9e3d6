"""A translator of ours in CTranslate2's words: which weight goes where in its description of a Transformer.

It joins the maps of queries, keys and values of a self-attention to one, and those of keys and values of a
cross-attention. Its own sinusoids are other curves than ours, so positions are written as a table.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from prosector.attention import MultiHeadAttention
from prosector.blocks import DecoderLayer, EncoderLayer
from prosector.config.folder import TranslatorFolder
from prosector.config.special import first_id
from prosector.config.transformer import TransformerConfig
from prosector.decoding.native import EPSILON, n_rows
from prosector.interop.engines.needed import needed
from prosector.interop.hugging_face.settings import require_expressible
from prosector.models.transformer import Transformer
from prosector.text import Tokenizer

# Their activation for each of ours, and whether a gate stands beside it.
ACTIVATIONS = {
    "relu": ("RELU", False),
    "gelu": ("GELU", False),
    "gelu-tanh": ("GELUTanh", False),
    "swish": ("SWISH", False),
    "swiglu": ("SWISH", True),
    "geglu": ("GELUTanh", True),
}


def require_ctranslate2(config: TransformerConfig) -> None:
    """Make sure that CTranslate2 has a word for every field.

    Raises:
        ValueError: it lacks some; all are named, with what they can be.
    """
    require_expressible("CTranslate2", config, {"kind": ("transformer",)})
    require_expressible(
        "CTranslate2",
        config,
        {
            "position.kind": ("sinusoidal", "learned"),
            "norm": tuple(EPSILON),
            "final_norm": (None, False, True) if config.norm_placement == "pre" else (None, False),
            "n_kv_heads": (None, config.n_heads),
            "d_head": (None, config.d_model // config.n_heads),
            "attention_scale": (None, (config.d_model // config.n_heads) ** -0.5),
            "scale_output": (False,),
            "special.never": ((),),
        },
    )


def spec_of(config: TranslatorFolder, model: Transformer, source: Tokenizer, target: Tokenizer) -> Any:
    """Their `TransformerSpec`, with all weights and both vocabularies.

    Raises:
        ImportError: ctranslate2 is not installed.
        ValueError: a field cannot be expressed.
    """
    ours = model.config
    require_ctranslate2(ours)
    specs = needed("ctranslate2.specs")
    activation, gated = ACTIVATIONS[ours.activation]
    spec = specs.TransformerSpec.from_config(
        (ours.encoder_layers, ours.decoder_layers),
        ours.n_heads,
        pre_norm=ours.norm_placement == "pre",
        no_final_norm=model.encoder.final_norm is None,
        activation=getattr(specs.Activation, activation),
        layernorm_embedding=ours.embedding_norm,
        ffn_glu=gated,
        rms_norm=ours.norm == "rms",
    )
    stacks = (
        (spec.encoder, spec.encoder.embeddings[0], model.encoder, model.source_embedding),
        (spec.decoder, spec.decoder.embeddings, model.decoder, model.target_embedding),
    )
    for theirs, embedding, stack, table in stacks:
        embedding.weight = array(table.weight)
        theirs.scale_embeddings = math.sqrt(ours.d_model) if ours.scale_embedding else 1.0
        theirs.position_encodings.encodings = array(positions(stack.position, n_rows(config), ours.d_model))
        set_norms(theirs, layer_norm=stack.final_norm, layernorm_embedding=stack.first_norm)
        for layer, our_layer in zip(theirs.layer, stack.layers, strict=True):
            set_layer(layer, our_layer)  # type: ignore[arg-type]
    set_linear(spec.decoder.projection, model.output)
    set_words(spec, config, source, target)
    spec.config.layer_norm_epsilon = ours.norm_eps or EPSILON[ours.norm]
    spec.validate()
    return spec


def positions(position: nn.Module, rows: int, d_model: int) -> Tensor:
    """What an encoding adds to an embedding at each place, [rows, d]."""
    with torch.no_grad():
        return position.embed(torch.zeros(1, rows, d_model), torch.arange(rows))[0]  # type: ignore[operator]


def set_layer(theirs: Any, ours: EncoderLayer | DecoderLayer) -> None:
    """One layer."""
    if isinstance(ours, DecoderLayer):
        set_attention(theirs.self_attention, ours.self, ours.norm1, across=False)
        set_attention(theirs.attention, ours.cross, ours.norm2, across=True)
        norm = ours.norm3
    else:
        set_attention(theirs.self_attention, ours.attention, ours.norm1, across=False)
        norm = ours.norm2
    set_norms(theirs.ffn, layer_norm=norm)
    feed_forward: Any = ours.feed_forward
    set_linear(theirs.ffn.linear_1, feed_forward.outer)
    if hasattr(feed_forward, "gate"):
        set_linear(theirs.ffn.linear_0, feed_forward.gate)
        set_linear(theirs.ffn.linear_0_noact, feed_forward.inner)
    else:
        set_linear(theirs.ffn.linear_0, feed_forward.inner)


def set_attention(theirs: Any, ours: MultiHeadAttention, norm: nn.Module, across: bool) -> None:
    """The maps of an attention, those that read the same thing joined, and its norm."""
    maps: Any = [ours.query, ours.key, ours.value]
    groups = [maps[:1], maps[1:]] if across else [maps]
    for linear, group in zip(theirs.linear, [*groups, [ours.output]], strict=True):
        set_linear(linear, *group)
    set_norms(theirs, layer_norm=norm)


def set_linear(theirs: Any, *ours: nn.Linear) -> None:
    """One map, or several side by side."""
    theirs.weight = array(torch.cat([linear.weight for linear in ours]))
    if ours[0].bias is not None:
        theirs.bias = array(torch.cat([linear.bias for linear in ours]))


def set_norms(theirs: Any, **ours: nn.Module | None) -> None:
    """Norms by their names there."""
    for name, norm in ours.items():
        if norm is not None:
            spec = getattr(theirs, name)
            spec.gamma = array(norm.weight)
            if getattr(norm, "bias", None) is not None:
                spec.beta = array(norm.bias)


def set_words(spec: Any, config: TranslatorFolder, source: Tokenizer, target: Tokenizer) -> None:
    """Both vocabularies, and what begins and ends a text."""
    ours: Any = config.model
    special = ours.special
    names = pieces_of(target, ours.target_vocab)
    spec.register_source_vocabulary(pieces_of(source, ours.source_vocab))
    spec.register_target_vocabulary(names)
    spec.config.add_source_eos = False  # what a source ends with is given by whoever asks, as all of its ids are
    spec.config.decoder_start_token = names[first_id(special)]
    spec.config.bos_token = spec.config.decoder_start_token
    if special.eos is not None:
        spec.config.eos_token = names[special.eos]
    if special.unk is not None:
        spec.config.unk_token = names[special.unk]


def pieces_of(tokenizer: Tokenizer, rows: int) -> list[str]:
    """How each id is spelled; one that has no piece, or another's, is spelled by its number."""
    found: dict[str, int] = {}
    for id in range(rows):
        piece = tokenizer.piece(id) if id < tokenizer.vocab_size else ""
        found[f"<id {id}>" if not piece or piece in found else piece] = id
    return list(found)


def array(weight: Any) -> Any:
    """A weight as numpy's, a copy: they quantise in place."""
    return weight.detach().float().cpu().numpy().copy()
