"""Hugging Face's `transformers`: tiny random models of every architecture that is read, saved and read as ours.

Weights have deviation 0.5, so that logits differ. In float32 alone: theirs compute some norms in it whatever the type.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from prosector.attention import Mask
from prosector.interop.conformance.compare import apart
from prosector.interop.conformance.report import Comparison, Difference, Section, Text
from prosector.interop.hugging_face import from_hugging_face

V, D, H, FF, N = 40, 24, 4, 40, 2  # vocabulary, features, heads, features inside, layers
PAD, STEP = 3, 3
DECODER = {"vocab_size": V, "hidden_size": D, "intermediate_size": FF, "num_hidden_layers": N}
DECODER |= {"num_attention_heads": H, "num_key_value_heads": 2}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0, "original_max_position_embeddings": 8}
READER = {"vocab_size": V, "hidden_size": D, "intermediate_size": FF, "num_hidden_layers": N}
READER |= {"num_attention_heads": H, "max_position_embeddings": 32, "pad_token_id": PAD}
PICTURES = {"hidden_size": D, "intermediate_size": FF, "num_hidden_layers": N, "num_attention_heads": H}
PICTURES |= {"image_size": 16, "patch_size": 4}
MARIAN = {"vocab_size": V, "d_model": D, "encoder_layers": N, "decoder_layers": N, "activation_function": "swish"}
MARIAN |= {"encoder_attention_heads": H, "decoder_attention_heads": H, "encoder_ffn_dim": FF, "decoder_ffn_dim": FF}
MARIAN |= {"pad_token_id": PAD, "decoder_start_token_id": PAD, "eos_token_id": 2, "scale_embedding": True}
T5 = {"vocab_size": V, "d_model": D, "d_kv": 5, "d_ff": FF, "num_layers": N, "num_heads": 3, "pad_token_id": PAD}

FULL = Text("padding on the left", "左侧填充")
CACHED = Text("the same, with a cache, three tokens at a time", "同上，带缓存，每次三个词元")
YARNED = Text("YaRN, grouped queries, padding on the left", "YaRN，分组查询，左侧填充")
SIX_HEADS = Text("ALiBi of six heads, padding on the left", "六个头的 ALiBi，左侧填充")
FILL = Text("padded, two segments: what fills a gap", "有填充，两个段：填空")
LABEL = Text("padded, two segments: the label", "有填充，两个段：标签")
PICTURE, LARGER = Text("pictures", "图片"), Text("pictures of another size", "另一种大小的图片")
PADDED = Text("sources padded", "源句有填充")
GATED = Text("gated, sources padded", "带门控，源句有填充")


class Model(NamedTuple):
    """One of theirs, by the names of its module and classes, and what is compared."""

    module: str
    cls: str
    config: str
    fields: dict[str, Any]
    cases: tuple[tuple[Text, Callable[[Any, Any], tuple[Tensor, Tensor]]], ...]


def rows(n: int = 12) -> tuple[Tensor, Tensor]:
    """Three rows of random ids, two of them padded on the left, and which are real."""
    lengths = torch.tensor([n, n - 5, 1])
    real = torch.arange(n) >= (n - lengths)[:, None]
    return torch.randint(4, V, (3, n)).masked_fill(~real, PAD), real


def writes(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """Logits of both at the real tokens."""
    ids, real = rows()
    return writes_at(theirs, ours, ids, real, ids.shape[1])


def writes_in_steps(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """The same, ours with a cache."""
    ids, real = rows()
    return writes_at(theirs, ours, ids, real, STEP)


def writes_at(theirs: Any, ours: Any, ids: Tensor, real: Tensor, step: int) -> tuple[Tensor, Tensor]:
    """Their logits of all tokens, and ours of so many at a time."""
    places = (real.cumsum(1) - 1).clamp(min=0)
    given = {} if theirs.config.model_type == "bloom" else {"position_ids": places}
    wanted = theirs(ids, attention_mask=real.long(), **given).logits
    cache, found = ours.new_cache(), []
    for start in range(0, ids.shape[1], step):
        new = slice(start, start + step)
        mask = Mask.causal() & Mask.keys(real[:, : new.stop])
        found.append(ours.logits(ours.hidden(ids[:, new], cache, places[:, new], mask)))
    return torch.cat(found, dim=1)[real], wanted[real]


def fills(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """A score for each word at each real token."""
    ids, real = rows()
    segments = torch.arange(ids.shape[1]).div(7, rounding_mode="floor").expand_as(ids)
    wanted = theirs(ids, attention_mask=real.long(), token_type_ids=segments).prediction_logits
    return ours(ids, segments)[real], wanted[real]


def labels(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """A score for each label."""
    ids, real = rows()
    wanted = theirs(ids, attention_mask=real.long()).seq_relationship_logits
    return ours.classify(ours.hidden(ids)), wanted


def classes(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """A score for each class of pictures."""
    pictures = torch.rand(2, 3, 16, 16)
    return ours(pictures), theirs(pictures).logits


def classes_of_larger(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """The same of pictures of another size than in training."""
    pictures = torch.rand(2, 3, 24, 8)
    return ours(pictures), theirs(pictures, interpolate_pos_encoding=True).logits


def translates(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """Logits of a whole target."""
    return translates_at(theirs, ours, 12)


def translates_in_steps(theirs: Any, ours: Any) -> tuple[Tensor, Tensor]:
    """The same, ours with a cache."""
    return translates_at(theirs, ours, STEP)


def translates_at(theirs: Any, ours: Any, step: int) -> tuple[Tensor, Tensor]:
    """Their logits of a whole target, and ours of so many tokens at a time."""
    src, real = rows()
    tgt = torch.cat([torch.full((3, 1), PAD), torch.randint(4, V, (3, 11))], dim=1)
    wanted = theirs(input_ids=src, attention_mask=real.long(), decoder_input_ids=tgt).logits
    memory, cache = ours.encode(src), ours.new_cache()
    found = [ours.logits(ours.decode(new, memory, real, cache)) for new in tgt.split(step, dim=1)]
    return torch.cat(found, dim=1), wanted


WRITING, TRANSLATING = (
    ((FULL, writes), (CACHED, writes_in_steps)),
    ((PADDED, translates), (CACHED, translates_in_steps)),
)
GPT2 = {"vocab_size": V, "n_positions": 32, "n_embd": D, "n_layer": N, "n_head": H}
MODELS = (
    Model("marian", "MarianMTModel", "MarianConfig", MARIAN, TRANSLATING),
    Model("t5", "T5ForConditionalGeneration", "T5Config", T5, TRANSLATING),
    Model(
        "t5",
        "T5ForConditionalGeneration",
        "T5Config",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        ((GATED, translates),),
    ),
    Model("gpt2", "GPT2LMHeadModel", "GPT2Config", GPT2, WRITING),
    Model("llama", "LlamaForCausalLM", "LlamaConfig", DECODER, WRITING),
    Model("llama", "LlamaForCausalLM", "LlamaConfig", {**DECODER, "rope_parameters": YARN}, ((YARNED, writes),)),
    Model("qwen2", "Qwen2ForCausalLM", "Qwen2Config", DECODER, WRITING),
    Model(
        "bloom",
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": V, "hidden_size": D, "n_layer": N, "n_head": H},
        WRITING,
    ),
    Model(
        "bloom",
        "BloomForCausalLM",
        "BloomConfig",
        {"vocab_size": V, "hidden_size": D, "n_layer": N, "n_head": 6},
        ((SIX_HEADS, writes),),
    ),
    Model("bert", "BertForPreTraining", "BertConfig", READER, ((FILL, fills), (LABEL, labels))),
    Model("vit", "ViTForImageClassification", "ViTConfig", PICTURES, ((PICTURE, classes), (LARGER, classes_of_larger))),
)


def made(model: Model) -> tuple[nn.Module, nn.Module]:
    """One of theirs with random weights, and ours as read from what it saved."""
    from importlib import import_module

    parts: Any = import_module(f"transformers.models.{model.module}")
    theirs = getattr(parts, model.cls)(getattr(parts, model.config)(**model.fields)).eval()
    for name, weight in [*theirs.named_parameters(), *theirs.named_buffers()]:
        if weight.requires_grad or name == "final_logits_bias":
            weight.detach().normal_(std=0.5)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        return theirs, from_hugging_face(Path(folder))


def compared(model: Model) -> Iterator[Comparison]:
    """Its cases; chance begins alike for each model and is left as it was."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(0)
        theirs, ours = made(model)
        for text, case in model.cases:
            mine, wanted = case(theirs, ours)
            yield Comparison(model.cls, text, {"float32": Difference(apart([mine], [wanted]), None)})


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's messages and bars; they are as they were afterwards."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def hugging_face() -> Section:
    """Every architecture compared.

    Raises:
        ImportError: transformers is not installed.
    """
    try:
        import transformers  # noqa: F401
    except ImportError as error:
        raise ImportError("comparing with transformers takes it: pip install 'prosector[hf]'") from error
    with quiet():
        rows_of = [row for model in MODELS for row in compared(model)]
    return Section("transformers", version("transformers"), rows_of)
