"""Tiny checkpoints of `transformers`, made here: weights of deviation 0.5, so that logits differ, saved and read."""

import warnings

import torch

with warnings.catch_warnings():  # theirs, of their own imports
    warnings.simplefilter("ignore")
    from transformers.models.bert import (
        BertConfig,
        BertForMaskedLM,
        BertForPreTraining,
        BertForSequenceClassification,
        BertModel,
    )
    from transformers.models.bloom import BloomConfig, BloomForCausalLM
    from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel
    from transformers.models.llama import LlamaConfig, LlamaForCausalLM
    from transformers.models.marian import MarianConfig, MarianMTModel
    from transformers.models.qwen2 import Qwen2Config, Qwen2ForCausalLM
    from transformers.models.t5 import T5Config, T5ForConditionalGeneration
    from transformers.models.vit import ViTConfig, ViTForImageClassification
    from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()

VOCAB = 40
SIZES = {"vocab_size": VOCAB, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2}
SIZES |= {"num_attention_heads": 4, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 16}
GPT2 = {"vocab_size": VOCAB, "n_positions": 64, "n_embd": 24, "n_layer": 2, "n_head": 4}
GPT2 |= {"bos_token_id": 2, "eos_token_id": 2}
BLOOM = {"vocab_size": VOCAB, "hidden_size": 24, "n_layer": 2}

WRITERS = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(**GPT2)),
    "gpt2, relu, untied": lambda: GPT2LMHeadModel(
        GPT2Config(**GPT2, activation_function="relu", n_inner=30, tie_word_embeddings=False)
    ),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SIZES)),
    "llama, wide heads, tied": lambda: LlamaForCausalLM(
        LlamaConfig(**SIZES, head_dim=10, tie_word_embeddings=True, rms_norm_eps=1e-3)
    ),
    "llama, yarn": lambda: LlamaForCausalLM(LlamaConfig(**SIZES, rope_parameters=YARN, max_position_embeddings=64)),
    "llama, yarn, details": lambda: LlamaForCausalLM(
        LlamaConfig(
            **SIZES | {"head_dim": 16},
            rope_parameters=YARN | {"beta_fast": 8, "beta_slow": 2, "mscale": 1.5, "mscale_all_dim": 0.5},
            max_position_embeddings=64,
        )
    ),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SIZES)),
    "qwen2, yarn, factor given": lambda: Qwen2ForCausalLM(
        Qwen2Config(**SIZES, rope_parameters=YARN | {"attention_factor": 1.3}, max_position_embeddings=64)
    ),
    "bloom": lambda: BloomForCausalLM(BloomConfig(**BLOOM, n_head=4)),
    "bloom, six heads": lambda: BloomForCausalLM(BloomConfig(**BLOOM, n_head=6)),
}

BERT = {"vocab_size": VOCAB, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
BERT |= {"intermediate_size": 40, "max_position_embeddings": 16, "pad_token_id": 3}

READERS = {
    "both heads": lambda: BertForPreTraining(BertConfig(**BERT)),
    "fills": lambda: BertForMaskedLM(BertConfig(**BERT, layer_norm_eps=1e-3)),
    "labels": lambda: BertForSequenceClassification(BertConfig(**BERT, num_labels=5, hidden_act="relu")),
    "no head": lambda: BertModel(BertConfig(**BERT)),
}

PICTURES = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
PICTURES |= {"image_size": 16, "patch_size": 4, "num_labels": 5}

VIT = {
    "usual": lambda: ViTForImageClassification(ViTConfig(**PICTURES)),
    "grey, no biases, gelu_new": lambda: ViTForImageClassification(
        ViTConfig(**PICTURES, num_channels=1, qkv_bias=False, hidden_act="gelu_new")
    ),
}

MARIAN = {"vocab_size": VOCAB, "d_model": 24, "encoder_layers": 2, "decoder_layers": 1, "scale_embedding": True}
MARIAN |= {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40}
MARIAN |= {"pad_token_id": 3, "decoder_start_token_id": 3, "eos_token_id": 2, "forced_eos_token_id": None}
MARIAN |= {"max_position_embeddings": 64, "activation_function": "swish"}
T5 = {"vocab_size": VOCAB, "d_model": 24, "d_kv": 5, "d_ff": 40, "num_layers": 2, "num_decoder_layers": 1}
T5 |= {"num_heads": 3, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 20}
T5 |= {"pad_token_id": 3, "decoder_start_token_id": 3, "eos_token_id": 2}

TRANSLATORS = {
    "marian": lambda: MarianMTModel(MarianConfig(**MARIAN)),
    "marian, odd width": lambda: MarianMTModel(
        MarianConfig(**MARIAN | {"d_model": 21, "encoder_attention_heads": 3, "decoder_attention_heads": 3})
    ),
    "marian, two vocabularies": lambda: MarianMTModel(
        MarianConfig(
            **MARIAN | {"scale_embedding": False, "share_encoder_decoder_embeddings": False, "decoder_vocab_size": 30}
        )
    ),
    "t5": lambda: T5ForConditionalGeneration(T5Config(**T5)),
    "t5, gated": lambda: T5ForConditionalGeneration(
        T5Config(**T5, feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    ),
}


def stirred(model):
    """Random weights of deviation 0.5, biases and scales too."""
    with torch.no_grad():
        for weight in [*model.parameters(), *(each for name, each in model.named_buffers() if "bias" in name)]:
            if weight.requires_grad or (weight.ndim == 2 and len(weight) == 1):  # not Marian's sinusoids
                weight.normal_(std=0.5)
    return model.eval()


def saved(make, folder, **options):
    """One of theirs, stirred, saved into a folder."""
    torch.manual_seed(1)
    model = stirred(make())
    model.set_attn_implementation("eager")  # the one that can show its weights
    model.save_pretrained(folder, **options)
    return model


def rows(lengths, side="right", n_words=VOCAB):
    """Random ids of rows of these lengths, and which are real; padding (id 3) on one side."""
    torch.manual_seed(2)
    longest = max(lengths)
    ids = torch.randint(4, n_words, (len(lengths), longest))
    place = torch.arange(longest)
    real = torch.stack([place < n if side == "right" else place >= longest - n for n in lengths])
    return ids.masked_fill(~real, 3), real


def near(ours, theirs, bound=1e-5):
    """Whether the largest difference is within 1e-5 of the largest number."""
    return (ours - theirs).abs().max() <= bound * theirs.abs().max()
