"""Llama and Qwen2: RoPE or YaRN, grouped queries, RMS norm, SwiGLU (Touvron et al. 2023; Qwen Team 2024).

The two differ in biases alone: Qwen2 has them on queries, keys and values.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.gpt import GptConfig
from prosector.config.position import PositionConfig, RopePositionConfig, YarnPositionConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, both, same
from prosector.interop.hugging_face.settings import Settings, require_expressible

DEFAULTS: dict[str, Any] = {
    "num_key_value_heads": None,
    "head_dim": None,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "attention_bias": False,
    "mlp_bias": False,
    "attention_dropout": 0.0,
    "rope_parameters": None,
    "rope_scaling": None,
    "rope_theta": 10000.0,
    "use_sliding_window": False,
    "max_position_embeddings": 2048,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": None,
    "tie_word_embeddings": False,
}
YARN = ("factor", "beta_fast", "beta_slow", "attention_factor", "mscale", "mscale_all_dim")


def position_of(theirs: Settings) -> PositionConfig:
    """RoPE or YaRN. Older files have `rope_theta` and `rope_scaling`, newer ones both in `rope_parameters`.

    Raises:
        ValueError: another stretching, or a detail of YaRN's that ours does not have.
    """
    given = dict(theirs["rope_parameters"] or theirs["rope_scaling"] or {})
    kind = given.pop("rope_type", given.pop("type", "default"))
    given.pop("type", None)
    theta = given.pop("rope_theta", None) or theirs["rope_theta"]
    if given.pop("partial_rotary_factor", 1.0) not in (1, None):
        raise ValueError("config.json: partial_rotary_factor: only whole heads can be turned here")
    if kind == "default":
        return RopePositionConfig(theta=theta)
    if kind != "yarn":
        raise ValueError(f"config.json: rope_type is {kind!r}, and only 'default' or 'yarn' can be expressed here")
    if given.pop("truncate", True) is not True:
        raise ValueError("config.json: truncate is False, and only True can be expressed here")
    length = given.pop("original_max_position_embeddings", None) or theirs["max_position_embeddings"]
    known = {name: value for name in YARN if (value := given.pop(name, None)) is not None}
    if given:
        raise ValueError(f"config.json: {', '.join(given)} of rope_parameters cannot be expressed here")
    if "factor" not in known:
        known["factor"] = theirs["max_position_embeddings"] / length
    # Their rule: a single one of the two, or a factor that is given, leaves the others without effect.
    if "attention_factor" in known or not {"mscale", "mscale_all_dim"} <= known.keys():
        known = {name: value for name, value in known.items() if not name.startswith("mscale")}
    return YarnPositionConfig(theta=theta, original_max_positions=length, **known)


def config_of(theirs: Settings, names: Collection[str]) -> GptConfig:
    """Ours; whether queries, keys and values have biases is seen from the weights' names."""
    theirs.require("hidden_act", "silu", "swish")
    theirs.require("use_sliding_window", False)
    theirs.require("mlp_bias", False)
    theirs.require("attention_bias", False)
    return GptConfig(
        vocab=theirs["vocab_size"],
        layers=theirs["num_hidden_layers"],
        d_model=theirs["hidden_size"],
        n_heads=theirs["num_attention_heads"],
        n_kv_heads=theirs["num_key_value_heads"],
        d_head=theirs["head_dim"],
        d_ff=theirs["intermediate_size"],
        activation="swiglu",
        norm="rms",
        norm_eps=theirs["rms_norm_eps"],
        bias=False,
        qkv_bias=theirs["qkv_bias"],
        dropout=0.0,
        attention_dropout=theirs["attention_dropout"],
        position=position_of(theirs),
        tie=theirs["tie_word_embeddings"],
        scale_embedding=False,
        special=theirs.special(),
    )


def rules(config: GptConfig) -> list[Rule]:
    """Which weight is which."""
    found = [
        same("model.embed_tokens.weight", "embedding.weight"),
        same("model.norm.weight", "decoder.final_norm.weight"),
    ]
    found += [] if config.tie else [same("lm_head.weight", "output.weight")]
    for number in range(config.layers):
        theirs, ours = f"model.layers.{number}", f"decoder.{number}"
        for their, our in (("q_proj", "query"), ("k_proj", "key"), ("v_proj", "value")):
            found += both(f"{theirs}.self_attn.{their}", f"{ours}.attention.{our}", bias=bool(config.qkv_bias))
        found += [
            same(f"{theirs}.self_attn.o_proj.weight", f"{ours}.attention.output.weight"),
            same(f"{theirs}.mlp.gate_proj.weight", f"{ours}.feed_forward.gate.weight"),
            same(f"{theirs}.mlp.up_proj.weight", f"{ours}.feed_forward.inner.weight"),
            same(f"{theirs}.mlp.down_proj.weight", f"{ours}.feed_forward.outer.weight"),
            same(f"{theirs}.input_layernorm.weight", f"{ours}.norm1.weight"),
            same(f"{theirs}.post_attention_layernorm.weight", f"{ours}.norm2.weight"),
        ]
    return found


def settings_of(config: GptConfig) -> dict[str, Any]:
    """Theirs: a config of Llama, or of Qwen2 if queries, keys and values have biases."""
    require_expressible(
        "Llama",
        config,
        {
            "position.kind": ("rope", "yarn"),
            "position.layout": ("half-split",),
            "norm": ("rms",),
            "norm_placement": ("pre",),
            "final_norm": (None, True),
            "bias": (False,),
            "activation": ("swiglu",),
            "attention_scale": (None,),
            "embedding_norm": (False,),
        },
    )
    position = config.position.model_dump(exclude_none=True, exclude={"kind", "layout"})
    theirs: dict[str, Any] = {"rope_theta": position.pop("theta"), "rope_type": "default"}
    if config.position.kind == "yarn":
        length = position.pop("original_max_positions")
        theirs |= {"rope_type": "yarn", "original_max_position_embeddings": length, **position}
    return {
        "vocab_size": config.vocab,
        "num_hidden_layers": config.layers,
        "hidden_size": config.d_model,
        "num_attention_heads": config.n_heads,
        "num_key_value_heads": config.n_kv_heads or config.n_heads,
        "head_dim": config.d_head or config.d_model // config.n_heads,
        "intermediate_size": config.d_ff,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps or 1e-6,
        "attention_dropout": config.attention_dropout,
        "rope_parameters": theirs,
        "tie_word_embeddings": config.tie,
    }


IGNORED = (r".*rotary_emb\.inv_freq", "(model.)?lm_head.weight")
LLAMA = Architecture(
    "llama",
    ("LlamaForCausalLM", "LlamaModel"),
    DEFAULTS | {"qkv_bias": False},
    config_of,
    rules,
    settings_of,
    prefix="model.",
    ignored=IGNORED,
)
QWEN2 = Architecture(
    "qwen2",
    ("Qwen2ForCausalLM", "Qwen2Model"),
    DEFAULTS | {"qkv_bias": True, "bos_token_id": None, "eos_token_id": None, "max_position_embeddings": 32768},
    config_of,
    rules,
    settings_of,
    prefix="model.",
    ignored=IGNORED,
)
