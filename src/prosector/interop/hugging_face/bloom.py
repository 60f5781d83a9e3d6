"""BLOOM: ALiBi, pre-norm, a norm on the embeddings, one table (BigScience Workshop 2022)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.gpt import GptConfig
from prosector.config.position import AlibiPositionConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, both, by_head, same
from prosector.interop.hugging_face.settings import Settings

DEFAULTS: dict[str, Any] = {
    "layer_norm_epsilon": 1e-5,
    "hidden_dropout": 0.0,
    "attention_dropout": 0.0,
    "apply_residual_connection_post_layernorm": False,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
    "tie_word_embeddings": True,
}


def config_of(theirs: Settings, names: Collection[str]) -> GptConfig:
    """Ours. Sizes have two names each, of which the Hub's files have either."""
    theirs.require("apply_residual_connection_post_layernorm", False)
    d_model = theirs.found.get("n_embed") or theirs["hidden_size"]
    return GptConfig(
        vocab=theirs["vocab_size"],
        layers=theirs.found.get("num_hidden_layers") or theirs["n_layer"],
        d_model=d_model,
        n_heads=theirs.found.get("num_attention_heads") or theirs["n_head"],
        d_ff=4 * d_model,
        activation="gelu-tanh",
        norm_eps=theirs["layer_norm_epsilon"],
        dropout=theirs["hidden_dropout"],
        attention_dropout=theirs["attention_dropout"],
        position=AlibiPositionConfig(),
        tie=theirs["tie_word_embeddings"],
        scale_embedding=False,
        embedding_norm=True,
        special=theirs.special(),
    )


def rules(config: GptConfig) -> list[Rule]:
    """Which weight is which; queries, keys and values are one, head by head."""
    found = [
        same("transformer.word_embeddings.weight", "embedding.weight"),
        *both("transformer.word_embeddings_layernorm", "decoder.first_norm"),
        *both("transformer.ln_f", "decoder.final_norm"),
    ]
    found += [] if config.tie else [same("lm_head.weight", "output.weight")]
    for number in range(config.layers):
        theirs, ours = f"transformer.h.{number}", f"decoder.{number}"
        qkv = [f"{ours}.attention.{part}" for part in ("query", "key", "value")]
        found += [
            by_head(
                f"{theirs}.self_attention.query_key_value.{kind}", [f"{part}.{kind}" for part in qkv], config.n_heads
            )
            for kind in ("weight", "bias")
        ]
        found += [
            *both(f"{theirs}.self_attention.dense", f"{ours}.attention.output"),
            *both(f"{theirs}.input_layernorm", f"{ours}.norm1"),
            *both(f"{theirs}.post_attention_layernorm", f"{ours}.norm2"),
            *both(f"{theirs}.mlp.dense_h_to_4h", f"{ours}.feed_forward.inner"),
            *both(f"{theirs}.mlp.dense_4h_to_h", f"{ours}.feed_forward.outer"),
        ]
    return found


BLOOM = Architecture(
    "bloom",
    ("BloomForCausalLM", "BloomModel"),
    DEFAULTS,
    config_of,
    rules,
    prefix="transformer.",
    ignored=("(transformer.)?lm_head.weight",),
)
