"""BERT: learned positions, segments, post-norm, a norm on the embeddings, two heads (Devlin et al. 2019).

Which heads there are is seen from the weights: gaps are filled by `cls.predictions`, whole texts labelled by
`classifier`, or by `cls.seq_relationship` (does one sentence follow the other?).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from prosector.config.bert import BertConfig
from prosector.config.position import LearnedPositionConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.rules import Rule, both, same
from prosector.interop.hugging_face.settings import NAMES_OF_ACTIVATIONS, Settings, numbered_labels, require_expressible

DEFAULTS: dict[str, Any] = {
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "layer_norm_eps": 1e-12,
    "type_vocab_size": 2,
    "position_embedding_type": "absolute",
    "is_decoder": False,
    "pad_token_id": 0,
    "bos_token_id": None,
    "eos_token_id": None,
    "tie_word_embeddings": True,
}
LABELS = {True: "classifier", False: "cls.seq_relationship"}


def config_of(theirs: Settings, names: Collection[str]) -> BertConfig:
    """Ours. What begins a text, ends it and stands for a gap is its tokenizer's to say."""
    theirs.require("position_embedding_type", "absolute")
    theirs.require("is_decoder", False)
    theirs.require("tie_word_embeddings", True)
    fills = "cls.predictions.transform.dense.weight" in names
    if fills:  # the head has an activation of its own, and ours is GELU
        theirs.require("hidden_act", "gelu")
    classifies = "classifier.weight" in names
    labels = classifies or "cls.seq_relationship.weight" in names
    return BertConfig(
        vocab=theirs["vocab_size"],
        layers=theirs["num_hidden_layers"],
        d_model=theirs["hidden_size"],
        n_heads=theirs["num_attention_heads"],
        d_ff=theirs["intermediate_size"],
        n_segments=theirs["type_vocab_size"],
        fills=fills,
        labels=labels,
        n_labels=max(2, n_labels_of(theirs)) if classifies else 2,
        mask_row=False,
        activation=theirs.activation("hidden_act"),
        norm_placement="post",
        norm_eps=theirs["layer_norm_eps"],
        dropout=theirs["hidden_dropout_prob"],
        attention_dropout=theirs["attention_probs_dropout_prob"],
        position=LearnedPositionConfig(max_length=theirs["max_position_embeddings"]),
        scale_embedding=False,
        embedding_norm=True,
        special=theirs.special(),
    )


def n_labels_of(theirs: Settings) -> int:
    """How many labels a config names; two if it names none, as transformers takes it."""
    return len(theirs.found.get("id2label") or "ab")


def rules(config: BertConfig) -> list[Rule]:
    """Which weight is which, of a model that labels pairs with `cls` if it fills gaps too."""
    found = [
        same("bert.embeddings.word_embeddings.weight", "embedding.weight"),
        same("bert.embeddings.position_embeddings.weight", "encoder.position.table.weight"),
        same("bert.embeddings.token_type_embeddings.weight", "segments"),
        *both("bert.embeddings.LayerNorm", "encoder.first_norm"),
    ]
    for number in range(config.layers):
        theirs, ours = f"bert.encoder.layer.{number}", f"encoder.{number}"
        for part in ("query", "key", "value"):
            found += both(f"{theirs}.attention.self.{part}", f"{ours}.attention.{part}")
        found += [
            *both(f"{theirs}.attention.output.dense", f"{ours}.attention.output"),
            *both(f"{theirs}.attention.output.LayerNorm", f"{ours}.norm1"),
            *both(f"{theirs}.intermediate.dense", f"{ours}.feed_forward.inner"),
            *both(f"{theirs}.output.dense", f"{ours}.feed_forward.outer"),
            *both(f"{theirs}.output.LayerNorm", f"{ours}.norm2"),
        ]
    if config.fills:
        found += [
            *both("cls.predictions.transform.dense", "fill_inner"),
            *both("cls.predictions.transform.LayerNorm", "fill_norm"),
            same("cls.predictions.bias", "fill_bias"),
        ]
    if config.labels:
        found += both("bert.pooler.dense", "pool")
        found += both(LABELS[not config.fills], "label")
    return found


def settings_of(config: BertConfig) -> dict[str, Any]:
    """Theirs."""
    require_expressible(
        "BERT",
        config,
        {
            "position.kind": ("learned",),
            "norm": ("layer",),
            "norm_placement": ("post",),
            "final_norm": (None, False),
            "bias": (True,),
            "qkv_bias": (None, True),
            "n_kv_heads": (None, config.n_heads),
            "d_head": (None, config.d_model // config.n_heads),
            "activation": ("gelu",) if config.fills else tuple(NAMES_OF_ACTIVATIONS),
            "attention_scale": (None,),
            "embedding_norm": (True,),
            "scale_embedding": (False,),
            "mask_row": (False,),
            "n_labels": (2,) if config.fills else (config.n_labels,),
        },
    )
    return {
        "vocab_size": config.vocab,
        "num_hidden_layers": config.layers,
        "hidden_size": config.d_model,
        "num_attention_heads": config.n_heads,
        "intermediate_size": config.d_ff,
        "type_vocab_size": config.n_segments,
        "hidden_act": NAMES_OF_ACTIVATIONS[config.activation],
        "max_position_embeddings": config.position.max_length,  # type: ignore[union-attr]
        "layer_norm_eps": config.norm_eps or 1e-5,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        **numbered_labels(config.n_labels),
    }


def class_of(config: BertConfig) -> str:
    """The class of transformers that has these heads."""
    heads = {
        (True, True): "BertForPreTraining",
        (True, False): "BertForMaskedLM",
        (False, True): "BertForSequenceClassification",
        (False, False): "BertModel",
    }
    return heads[config.fills, config.labels]


BERT = Architecture(
    "bert",
    ("BertForPreTraining", "BertForMaskedLM", "BertForSequenceClassification", "BertModel"),
    DEFAULTS,
    config_of,
    rules,
    settings_of,
    prefix="bert.",
    ignored=(
        r"bert\.embeddings\.position_ids",
        r"cls\.predictions\.decoder\.(weight|bias)",
        r"bert\.pooler\.dense\.(weight|bias)",  # of a model without a head for labels
    ),
    renamed={r"LayerNorm\.gamma$": "LayerNorm.weight", r"LayerNorm\.beta$": "LayerNorm.bias"},
)
