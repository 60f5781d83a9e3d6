"""T5: relative positions in buckets, RMS norm, scores that are not scaled (Raffel et al. 2020).

The bias of positions belongs to a stack: their first layer holds it, and all use it. The first version ties its
output's table to the embedding and divides the last vectors by √d; version 1.1 does neither, and its feed-forward
network is gated.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.position import T5PositionConfig
from prosector.config.transformer import TransformerConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, copied, same
from prosector.interop.hugging_face.seq2seq import attention
from prosector.interop.hugging_face.settings import Settings

DEFAULTS: dict[str, Any] = {
    "num_decoder_layers": None,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "dropout_rate": 0.1,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
    "tie_word_embeddings": True,
    "decoder_start_token_id": 0,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "bos_token_id": None,
}
FEED_FORWARD = {"relu": "relu", "gated-gelu": "geglu", "gated-silu": "swiglu", "gelu": "gelu", "silu": "swish"}
UNK = 2
NAMES = ("q", "k", "v", "o")


def config_of(theirs: Settings, names: Collection[str]) -> TransformerConfig:
    """Ours; a table of its own for the output is one only where the config does not tie it."""
    theirs.require("feed_forward_proj", *FEED_FORWARD)
    first_version = theirs["tie_word_embeddings"]
    return TransformerConfig(
        source_vocab=theirs["vocab_size"],
        target_vocab=theirs["vocab_size"],
        tie="all" if first_version or "lm_head.weight" not in names else "none",
        scale_output=theirs.found.get("scale_decoder_outputs", first_version),
        encoder_layers=theirs["num_layers"],
        decoder_layers=theirs["num_decoder_layers"] or theirs["num_layers"],
        d_model=theirs["d_model"],
        n_heads=theirs["num_heads"],
        d_head=theirs["d_kv"],
        d_ff=theirs["d_ff"],
        activation=FEED_FORWARD[theirs["feed_forward_proj"]],  # type: ignore[arg-type]
        norm="rms",
        norm_eps=theirs["layer_norm_epsilon"],
        bias=False,
        dropout=theirs["dropout_rate"],
        attention_dropout=theirs["dropout_rate"],
        attention_scale=1.0,
        position=T5PositionConfig(
            num_buckets=theirs["relative_attention_num_buckets"],
            max_distance=theirs["relative_attention_max_distance"],
        ),
        scale_embedding=False,
        special=theirs.special(sos=theirs["decoder_start_token_id"], unk=UNK),
    )


def rules(config: TransformerConfig) -> list[Rule]:
    """Which weight is which."""
    if config.tie == "all":
        found = [same("shared.weight", "source_embedding.weight")]
    else:
        found = [
            copied("shared.weight", ["source_embedding.weight", "target_embedding.weight"]),
            same("lm_head.weight", "output.weight"),
        ]
    for side, n_layers in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        table = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        found += [
            same(table, f"{side}.position.table.weight"),
            same(f"{side}.final_layer_norm.weight", f"{side}.final_norm.weight"),
        ]
        for number in range(n_layers):
            found += layer(f"{side}.block.{number}", f"{side}.{number}", side == "decoder", gated=is_gated(config))
    return found


def is_gated(config: TransformerConfig) -> bool:
    """Whether the feed-forward networks have a gate."""
    return config.activation in ("geglu", "swiglu")


def layer(theirs: str, ours: str, across: bool, gated: bool) -> list[Rule]:
    """One layer; theirs numbers its sublayers, each with the norm before it."""
    sublayers = ["self", "cross", "feed_forward"] if across else ["attention", "feed_forward"]
    found = [
        same(f"{theirs}.layer.{number}.layer_norm.weight", f"{ours}.norm{number + 1}.weight")
        for number in range(len(sublayers))
    ]
    found += attention(f"{theirs}.layer.0.SelfAttention", f"{ours}.{sublayers[0]}", NAMES, bias=False)
    if across:
        found += attention(f"{theirs}.layer.1.EncDecAttention", f"{ours}.cross", NAMES, bias=False)
    last = f"{theirs}.layer.{len(sublayers) - 1}.DenseReluDense"
    maps = {"wi_0": "gate", "wi_1": "inner", "wo": "outer"} if gated else {"wi": "inner", "wo": "outer"}
    return found + [same(f"{last}.{their}.weight", f"{ours}.feed_forward.{our}.weight") for their, our in maps.items()]


T5 = Architecture(
    "t5",
    ("T5ForConditionalGeneration",),
    DEFAULTS,
    config_of,
    rules,
    ignored=(
        r"(encoder|decoder)\.embed_tokens\.weight",
        r"lm_head\.weight",
        r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",  # never used, in old files
    ),
)
