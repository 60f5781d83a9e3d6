"""torch.nn's six modules: every argument and every mask, and this house's blocks with the same weights."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from prosector.attention import Mask
from prosector.interop.blocks import blocks_of
from prosector.interop.conformance.compare import Case, Tensors
from prosector.interop.conformance.mask_questions import MASK_QUESTIONS
from prosector.interop.conformance.questions import answers
from prosector.interop.conformance.report import Section, Text
from prosector.interop.conformance.running_questions import RUNNING_QUESTIONS
from prosector.interop.names import block_names, names_of

D, H, FF = 8, 2, 12
X, MEMORY = (2, 4, D), (2, 5, D)  # shapes: 2 rows of 4 tokens, and a memory of 5

FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)
PADDING = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 1]], dtype=torch.bool)  # True is padding
MEMORY_PADDING = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1]], dtype=torch.bool)
EACH_HEAD = torch.arange(2 * H * 4 * 5).view(2 * H, 4, 5) % 3 == 1  # a table for each row and head
ADDED = torch.linspace(-2, 2, 16).view(4, 4).masked_fill(FUTURE, -torch.inf)
ADDED_TO_MEMORY = torch.linspace(-1, 1, 20).view(4, 5)


def attention(**options: Any) -> Callable[[], nn.Module]:
    """How to make a MultiheadAttention."""
    return lambda: nn.MultiheadAttention(D, H, **{"batch_first": True, **options})


def layer(cls: type[nn.Module], **options: Any) -> Callable[[], nn.Module]:
    """How to make a layer."""
    return lambda: cls(D, H, FF, **{"dropout": 0.0, "batch_first": True, **options})


def stack(cls: type[nn.Module], of: type[nn.Module], norm: bool = True, **options: Any) -> Callable[[], nn.Module]:
    """How to make a stack of two layers."""
    return lambda: quietly(lambda: cls(layer(of, **options)(), 2, nn.LayerNorm(D) if norm else None))


def transformer(**options: Any) -> Callable[[], nn.Module]:
    """How to make a Transformer of one layer on each side."""
    return lambda: quietly(lambda: nn.Transformer(D, H, 1, 1, FF, **{"dropout": 0.0, "batch_first": True, **options}))


def quietly(make: Callable[[], nn.Module]) -> nn.Module:
    """Make it without torch.nn's warnings of its own defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def names_in(kind: str) -> Callable[[Tensors], Tensors]:
    """torch.nn's names of weights as a block's."""
    return lambda weights: block_names(weights, names_of(kind))


ENCODER, DECODER = nn.TransformerEncoderLayer, nn.TransformerDecoderLayer
ENCODERS, DECODERS = nn.TransformerEncoder, nn.TransformerDecoder

CASES = [
    Case(
        Text("self-attention, length first, weights averaged", "自注意力，长度在前，权重取平均"),
        attention(batch_first=False),
        (X, X, X),
    ),
    Case(
        Text("a table for each row and head, padding, weights of each head", "每行每头一张表，填充，每个头的权重"),
        attention(),
        (X, MEMORY, MEMORY),
        {"attn_mask": EACH_HEAD, "key_padding_mask": MEMORY_PADDING, "average_attn_weights": False},
    ),
    Case(
        Text("kdim and vdim, additive mask", "kdim 和 vdim，相加的掩码"),
        attention(kdim=3, vdim=7),
        (X, (2, 5, 3), (2, 5, 7)),
        {"attn_mask": ADDED_TO_MEMORY},
    ),
    Case(
        Text("learned and zero keys, additive padding, without weights", "可学习的键和零键，相加的填充，不要权重"),
        attention(add_bias_kv=True, add_zero_attn=True),
        (X, MEMORY, MEMORY),
        {"key_padding_mask": torch.linspace(-1, 1, 10).view(2, 5), "need_weights": False},
    ),
    Case(
        Text("one sequence, no bias, is_causal", "单个序列，无偏置，is_causal"),
        attention(bias=False),
        (X[1:], X[1:], X[1:]),
        {"attn_mask": FUTURE, "is_causal": True},
    ),
    Case(Text("post-norm, ReLU, length first", "后归一化，ReLU，长度在前"), layer(ENCODER, batch_first=False), (X,)),
    Case(
        Text("pre-norm, GELU, no bias, causal and padded", "前归一化，GELU，无偏置，因果加填充"),
        layer(ENCODER, norm_first=True, activation="gelu", bias=False),
        (X,),
        {"src_mask": FUTURE, "src_key_padding_mask": PADDING},
    ),
    Case(
        Text("a function as activation, layer_norm_eps, additive mask", "函数作为激活，layer_norm_eps，相加的掩码"),
        layer(ENCODER, activation=F.silu, layer_norm_eps=1e-3),
        (X,),
        {"src_mask": ADDED},
    ),
    Case(
        Text("evaluation without gradients", "评估，无梯度"),
        layer(ENCODER),
        (X,),
        {"src_mask": FUTURE, "src_key_padding_mask": PADDING},
        evaluation=True,
    ),
    Case(
        Text("padded, with a last norm", "有填充，末尾归一化"),
        stack(ENCODERS, ENCODER),
        (X,),
        {"src_key_padding_mask": PADDING},
    ),
    Case(
        Text("causal, is_causal said too, evaluation without gradients", "因果并写明 is_causal，评估，无梯度"),
        stack(ENCODERS, ENCODER),
        (X,),
        {"mask": FUTURE, "is_causal": True},
        evaluation=True,
    ),
    Case(
        Text("as a block: EncoderStack, causal and padded", "作为部件：EncoderStack，因果加填充"),
        stack(ENCODERS, ENCODER, norm_first=True),
        (X,),
        {"mask": FUTURE, "src_key_padding_mask": PADDING},
        ours=blocks_of,
        call=lambda block, inputs, options: block(*inputs, real=~PADDING, mask=Mask.causal()),
        names=names_in("TransformerEncoder"),
    ),
    Case(
        Text("post-norm, memory of another length, causal", "后归一化，memory 长度不同，因果"),
        layer(DECODER),
        (X, MEMORY),
        {"tgt_mask": FUTURE, "tgt_is_causal": True, "memory_key_padding_mask": MEMORY_PADDING},
    ),
    Case(
        Text("pre-norm, GELU, no bias, masks on both", "前归一化，GELU，无偏置，两处都有掩码"),
        layer(DECODER, norm_first=True, activation="gelu", bias=False),
        (X, MEMORY),
        {"tgt_mask": ADDED, "memory_mask": EACH_HEAD},
    ),
    Case(
        Text("all masks, with a last norm", "所有掩码，末尾归一化"),
        stack(DECODERS, DECODER),
        (X, MEMORY),
        {
            "tgt_mask": FUTURE,
            "memory_mask": EACH_HEAD,
            "tgt_key_padding_mask": PADDING,
            "memory_key_padding_mask": MEMORY_PADDING,
        },
    ),
    Case(
        Text("as a block: DecoderStack, padded memory", "作为部件：DecoderStack，memory 有填充"),
        stack(DECODERS, DECODER, norm=False),
        (X, MEMORY),
        {"tgt_mask": FUTURE, "memory_key_padding_mask": MEMORY_PADDING},
        ours=blocks_of,
        call=lambda block, inputs, options: block(*inputs, memory_real=~MEMORY_PADDING),
        names=names_in("TransformerDecoder"),
    ),
    Case(
        Text("length first, causal target", "长度在前，目标为因果"),
        transformer(batch_first=False),
        ((5, 2, D), (4, 2, D)),
        {"tgt_mask": FUTURE},
    ),
    Case(
        Text("pre-norm, GELU, all padded", "前归一化，GELU，处处有填充"),
        transformer(norm_first=True, activation="gelu"),
        (MEMORY, X),
        {
            "src_key_padding_mask": MEMORY_PADDING,
            "tgt_mask": FUTURE,
            "tgt_key_padding_mask": PADDING,
            "memory_key_padding_mask": MEMORY_PADDING,
        },
    ),
]


def torch_nn() -> Section:
    """Compare with the torch.nn that is installed, and ask it the questions."""
    version = torch.__version__.split("+")[0]
    findings = [answers(question) for question in MASK_QUESTIONS + RUNNING_QUESTIONS]
    return Section("torch.nn", version, [case.compare() for case in CASES], findings)
