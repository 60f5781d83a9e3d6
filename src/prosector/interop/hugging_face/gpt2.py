"""GPT-2: learned positions, pre-norm, GELU by its tanh formula, one table (Radford et al. 2019)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.gpt import GptConfig
from prosector.config.position import LearnedPositionConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, both, joined, same, turned
from prosector.interop.hugging_face.settings import NAMES_OF_ACTIVATIONS, Settings, require_expressible

DEFAULTS: dict[str, Any] = {
    "n_inner": None,
    "activation_function": "gelu_new",
    "resid_pdrop": 0.1,
    "attn_pdrop": 0.1,
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "bos_token_id": 50256,
    "eos_token_id": 50256,
    "pad_token_id": None,
    "tie_word_embeddings": True,
}


def config_of(theirs: Settings, names: Collection[str]) -> GptConfig:
    """Ours."""
    theirs.require("scale_attn_weights", True)
    theirs.require("scale_attn_by_inverse_layer_idx", False)
    theirs.require("add_cross_attention", False)
    return GptConfig(
        vocab=theirs["vocab_size"],
        layers=theirs["n_layer"],
        d_model=theirs["n_embd"],
        n_heads=theirs["n_head"],
        d_ff=theirs["n_inner"] or 4 * theirs["n_embd"],
        activation=theirs.activation("activation_function"),
        norm_eps=theirs["layer_norm_epsilon"],
        dropout=theirs["resid_pdrop"],
        attention_dropout=theirs["attn_pdrop"],
        position=LearnedPositionConfig(max_length=theirs["n_positions"]),
        tie=theirs["tie_word_embeddings"],
        scale_embedding=False,
        special=theirs.special(),
    )


def rules(config: GptConfig) -> list[Rule]:
    """Which weight is which; matrices are [in, out], and queries, keys and values are one."""
    found = [
        same("transformer.wte.weight", "embedding.weight"),
        same("transformer.wpe.weight", "decoder.position.table.weight"),
        *both("transformer.ln_f", "decoder.final_norm"),
    ]
    found += [] if config.tie else [same("lm_head.weight", "output.weight")]
    for number in range(config.layers):
        theirs, ours = f"transformer.h.{number}", f"decoder.{number}"
        qkv = [f"{ours}.attention.{part}" for part in ("query", "key", "value")]
        found += [
            *both(f"{theirs}.ln_1", f"{ours}.norm1"),
            joined(f"{theirs}.attn.c_attn.weight", [f"{part}.weight" for part in qkv], turn=True),
            joined(f"{theirs}.attn.c_attn.bias", [f"{part}.bias" for part in qkv]),
            turned(f"{theirs}.attn.c_proj.weight", f"{ours}.attention.output.weight"),
            same(f"{theirs}.attn.c_proj.bias", f"{ours}.attention.output.bias"),
            *both(f"{theirs}.ln_2", f"{ours}.norm2"),
            turned(f"{theirs}.mlp.c_fc.weight", f"{ours}.feed_forward.inner.weight"),
            same(f"{theirs}.mlp.c_fc.bias", f"{ours}.feed_forward.inner.bias"),
            turned(f"{theirs}.mlp.c_proj.weight", f"{ours}.feed_forward.outer.weight"),
            same(f"{theirs}.mlp.c_proj.bias", f"{ours}.feed_forward.outer.bias"),
        ]
    return found


def settings_of(config: GptConfig) -> dict[str, Any]:
    """Theirs."""
    require_expressible(
        "GPT-2",
        config,
        {
            "position.kind": ("learned",),
            "norm": ("layer",),
            "norm_placement": ("pre",),
            "final_norm": (None, True),
            "bias": (True,),
            "qkv_bias": (None, True),
            "n_kv_heads": (None, config.n_heads),
            "d_head": (None, config.d_model // config.n_heads),
            "activation": tuple(NAMES_OF_ACTIVATIONS),
            "attention_scale": (None,),
            "embedding_norm": (False,),
        },
    )
    return {
        "vocab_size": config.vocab,
        "n_layer": config.layers,
        "n_embd": config.d_model,
        "n_head": config.n_heads,
        "n_inner": config.d_ff,
        "n_positions": config.position.max_length,  # type: ignore[union-attr]
        "activation_function": NAMES_OF_ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_eps or 1e-5,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        "tie_word_embeddings": config.tie,
    }


GPT2 = Architecture(
    "gpt2",
    ("GPT2LMHeadModel", "GPT2Model"),
    DEFAULTS,
    config_of,
    rules,
    settings_of,
    prefix="transformer.",
    ignored=(r".*\.attn\.(masked_)?bias", "(transformer.)?lm_head.weight"),
)
