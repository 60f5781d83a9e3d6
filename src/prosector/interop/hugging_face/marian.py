"""Marian's translators (opus-mt): sinusoids [sin ‖ cos], post-norm, a bias for each word (Junczys-Dowmunt et al. 2018).

What a target begins with is the id of padding.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.position import SinusoidalPositionConfig
from prosector.config.transformer import TransformerConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, both, same
from prosector.interop.hugging_face.seq2seq import attention
from prosector.interop.hugging_face.settings import NAMES_OF_ACTIVATIONS, Settings, require_expressible

DEFAULTS: dict[str, Any] = {
    "activation_function": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "decoder_vocab_size": None,
    "decoder_start_token_id": 58100,
    "pad_token_id": 58100,
    "eos_token_id": 0,
    "bos_token_id": None,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
UNK = 1  # in all of their vocabularies
SHARED, TABLE = "model.shared.weight", "embed_tokens.weight"
NAMES = ("q_proj", "k_proj", "v_proj", "out_proj")


def config_of(theirs: Settings, names: Collection[str]) -> TransformerConfig:
    """Ours."""
    for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm"):
        theirs.require(name, False)
    theirs.require("static_position_embeddings", True)
    theirs.require("tie_word_embeddings", True)
    theirs.require("decoder_attention_heads", theirs["encoder_attention_heads"])
    theirs.require("decoder_ffn_dim", theirs["encoder_ffn_dim"])
    shared = theirs["share_encoder_decoder_embeddings"]
    return TransformerConfig(
        source_vocab=theirs["vocab_size"],
        target_vocab=theirs["vocab_size"] if shared else theirs["decoder_vocab_size"] or theirs["vocab_size"],
        tie="all" if shared else "target",
        encoder_layers=theirs["encoder_layers"],
        decoder_layers=theirs["decoder_layers"],
        d_model=theirs["d_model"],
        n_heads=theirs["encoder_attention_heads"],
        d_ff=theirs["encoder_ffn_dim"],
        activation=theirs.activation("activation_function"),
        norm_placement="post",
        dropout=theirs["dropout"],
        attention_dropout=theirs["attention_dropout"],
        position=SinusoidalPositionConfig(layout="half-split"),
        scale_embedding=theirs["scale_embedding"],
        output_bias=True,
        special=theirs.special(sos=theirs["decoder_start_token_id"], unk=UNK),
    )


def rules(config: TransformerConfig) -> list[Rule]:
    """Which weight is which."""
    shared = config.tie == "all"
    found = [bias_of_words()]
    if shared:
        found.append(same(SHARED, "source_embedding.weight"))
    else:
        found += [
            same(f"model.encoder.{TABLE}", "source_embedding.weight"),
            same(f"model.decoder.{TABLE}", "target_embedding.weight"),
        ]
    for side, n_layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(n_layers):
            found += layer(f"model.{side}.layers.{number}", f"{side}.{number}", across=side == "decoder")
    return found


def layer(theirs: str, ours: str, across: bool) -> list[Rule]:
    """One layer of an encoder, or of a decoder, which looks across."""
    last = "norm3" if across else "norm2"
    found = [
        *attention(f"{theirs}.self_attn", f"{ours}.{'self' if across else 'attention'}", NAMES, bias=True),
        *both(f"{theirs}.self_attn_layer_norm", f"{ours}.norm1"),
        *both(f"{theirs}.fc1", f"{ours}.feed_forward.inner"),
        *both(f"{theirs}.fc2", f"{ours}.feed_forward.outer"),
        *both(f"{theirs}.final_layer_norm", f"{ours}.{last}"),
    ]
    if across:
        found += attention(f"{theirs}.encoder_attn", f"{ours}.cross", NAMES, bias=True)
        found += both(f"{theirs}.encoder_attn_layer_norm", f"{ours}.norm2")
    return found


def bias_of_words() -> Rule:
    """A bias a word; theirs is a row, [1, V]."""
    return Rule(("final_logits_bias",), ("output.bias",), lambda given: [given[0][0]], lambda given: [given[0][None]])


def settings_of(config: TransformerConfig) -> dict[str, Any]:
    """Theirs."""
    require_expressible(
        "Marian",
        config,
        {
            "position.kind": ("sinusoidal",),
            "position.layout": ("half-split",),
            "norm": ("layer",),
            "norm_eps": (None, 1e-5),
            "norm_placement": ("post",),
            "final_norm": (None, False),
            "bias": (True,),
            "qkv_bias": (None, True),
            "n_kv_heads": (None, config.n_heads),
            "d_head": (None, config.d_model // config.n_heads),
            "activation": tuple(NAMES_OF_ACTIVATIONS),
            "attention_scale": (None,),
            "embedding_norm": (False,),
            "scale_output": (False,),
            "tie": ("all", "target"),
        },
    )
    return {
        "vocab_size": config.source_vocab,
        "decoder_vocab_size": config.target_vocab,
        "share_encoder_decoder_embeddings": config.tie == "all",
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "d_model": config.d_model,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": NAMES_OF_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "scale_embedding": config.scale_embedding,
        "decoder_start_token_id": config.special.sos,
        "forced_eos_token_id": None,
        "max_position_embeddings": 1024,
    }


MARIAN = Architecture(
    "marian",
    ("MarianMTModel",),
    DEFAULTS,
    config_of,
    rules,
    settings_of,
    ignored=(
        r"model\.(encoder|decoder)\.embed_positions\.weight",  # the sinusoids
        r"model\.(encoder|decoder)\.embed_tokens\.weight",  # where they are the shared table once more
        r"lm_head\.weight",
        r"model\.shared\.weight",
    ),
)
