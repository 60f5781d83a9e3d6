"""What masks should do, asked of torch.nn and of `prosector.nn`."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from prosector.interop.conformance.questions import (
    NAN,
    OTHER_NUMBERS,
    OTHERS,
    REFUSED,
    SAME,
    asked,
    in_modes,
    layer,
    run_in,
)
from prosector.interop.conformance.report import Text

FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)
PAST = FUTURE.T  # forbids what is behind, the opposite of causal
LEFT = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0]], dtype=torch.bool)  # padding on the left
ALL = torch.ones(2, 4, dtype=torch.bool)
COLUMN = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]], dtype=torch.bool)  # the last column is padding everywhere

ZEROS, ZEROS_ALONE = Text("zeros, finite gradients", "零，梯度有限"), Text("zeros", "零")
FINITE, NAN_GRADIENTS = Text("finite numbers", "有限的数值"), Text("NaN gradients", "梯度为 NaN")
CAUSAL, UNMASKED = Text("causal", "因果"), Text("everything sees everything", "一切都看得见一切")
MASK_ALONE, CAUSAL_ALONE = Text("is_causal is ignored", "忽略 is_causal"), Text("the mask is ignored", "忽略掩码")
FORBIDS, ADDS = Text("it forbids", "起到禁止作用"), Text("it forbids nothing", "什么也没有禁止")
SEES_ALL = Text("the new token sees all", "新词看得见全部")
FIRST_ALONE = Text("the new token sees the first token alone", "新词只看得见第一个词")


def rows_that_see_nothing(nn: ModuleType, mode: str, need_weights: bool) -> Text:
    """Padding on the left under a causal mask: the first two queries of the first row may look at nothing."""
    attention = nn.MultiheadAttention(8, 2, batch_first=True)  # its biases are 0 at first, so nothing in is nothing out
    x = torch.randn(2, 4, 8, requires_grad=True)
    out, _ = run_in(mode, attention, x, x, x, attn_mask=FUTURE, key_padding_mask=LEFT, need_weights=need_weights)
    if out.isnan().any():
        return NAN
    if out[0, :2].any():
        return OTHER_NUMBERS
    if mode == "no gradients":
        return ZEROS_ALONE
    out.sum().backward()
    leaves = [x, *attention.parameters()]
    return ZEROS if all(leaf.grad.isfinite().all() for leaf in leaves) else NAN_GRADIENTS


def everything_padded(nn: ModuleType, mode: str) -> Text:
    """Both rows are padding from end to end."""
    encoder = nn.TransformerEncoder(layer(nn), 2)
    out = run_in(mode, encoder, torch.randn(2, 4, 8), src_key_padding_mask=ALL)
    return FINITE if out.isfinite().all() else NAN


def padding_in_both_modes(nn: ModuleType) -> Text:
    """What stands at padding, in training and in evaluation without gradients; a column is padding everywhere."""
    encoder, x = nn.TransformerEncoder(layer(nn), 2), torch.randn(2, 4, 8)
    first, second = (run_in(mode, encoder, x, src_key_padding_mask=COLUMN) for mode in ("training", "no gradients"))
    return SAME if first.shape == second.shape and torch.allclose(first, second, atol=1e-4) else OTHERS


def shapes_in_both_modes(nn: ModuleType) -> Text:
    """The shapes of the same."""
    encoder, x = nn.TransformerEncoder(layer(nn), 2), torch.randn(2, 4, 8)
    shapes = {run_in(mode, encoder, x, src_key_padding_mask=COLUMN).shape for mode in ("training", "no gradients")}
    return SAME if len(shapes) == 1 else OTHERS


def what_holds(
    module: Any, mode: str, x: Tensor, *memory: Tensor, mask: str, causal: str, table: Tensor | None
) -> Text:
    """Whether is_causal or the mask beside it decides, or neither."""
    n_keys = (memory or (x,))[0].shape[1]
    future = torch.ones(x.shape[1], n_keys, dtype=torch.bool).triu(1)
    found = run_in(mode, module, x, *memory, **{mask: table, causal: True})
    looks = {CAUSAL if table is None else CAUSAL_ALONE: future, UNMASKED if table is None else MASK_ALONE: table}
    for text, alone in looks.items():
        if torch.allclose(found, run_in(mode, module, x, *memory, **{mask: alone}), atol=1e-4):
            return text
    return OTHER_NUMBERS


def is_causal(nn: ModuleType, mode: str, table: Tensor | None) -> Text:
    """On an encoder layer."""
    return what_holds(layer(nn), mode, torch.randn(2, 4, 8), mask="src_mask", causal="is_causal", table=table)


def memory_is_causal(nn: ModuleType, table: Tensor | None) -> Text:
    """On a decoder layer, with a memory of another length."""
    decoder = nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    x, memory = torch.randn(2, 4, 8), torch.randn(2, 6, 8)
    return what_holds(decoder, "training", x, memory, mask="memory_mask", causal="memory_is_causal", table=table)


def zeros_and_ones(nn: ModuleType) -> Text:
    """A mask of 0s and 1s in floats: does the first token still depend on the last?"""
    module, x = layer(nn), torch.randn(1, 4, 8)
    later = torch.cat([x[:, :3], x[:, 3:] + 1], dim=1)
    one, other = (module(each, src_mask=FUTURE.float())[:, 0] for each in (x, later))
    return FORBIDS if torch.allclose(one, other, atol=1e-6) else ADDS


def one_new_token(nn: ModuleType) -> Text:
    """The fifth token over the keys of all five; its row of the causal mask forbids nothing."""
    attention, x = nn.MultiheadAttention(8, 2, batch_first=True), torch.randn(1, 5, 8)
    row = torch.zeros(1, 5, dtype=torch.bool)
    out, _ = attention(x[:, 4:], x, x, attn_mask=row, is_causal=True, need_weights=False)
    full, _ = attention(x[:, 4:], x, x, need_weights=False)
    return SEES_ALL if torch.allclose(out, full, atol=1e-5) else FIRST_ALONE


MASK_QUESTIONS = [
    *in_modes(
        "a row that may look at nothing, need_weights=True",
        "什么都不能看的一行，need_weights=True",
        rows_that_see_nothing,
        *(ZEROS, ZEROS_ALONE),
        modes=("training", "evaluation", "no gradients"),
        need_weights=True,
    ),
    *in_modes(
        "a row that may look at nothing, need_weights=False",
        "什么都不能看的一行，need_weights=False",
        rows_that_see_nothing,
        *(ZEROS, ZEROS_ALONE),
        modes=("training", "evaluation", "no gradients"),
        need_weights=False,
    ),
    *in_modes(
        "a whole batch padded, encoder",
        "整批都是填充，编码器",
        everything_padded,
        FINITE,
        modes=("training", "no gradients"),
    ),
    asked(
        "a column padded everywhere: shapes in training and in evaluation",
        "一整列都是填充：训练与评估的形状",
        shapes_in_both_modes,
        SAME,
    ),
    asked(
        "the same: numbers at padding in training and in evaluation",
        "同上：填充处的数值，训练与评估",
        padding_in_both_modes,
        SAME,
    ),
    *in_modes(
        "is_causal without a mask",
        "有 is_causal 而没有掩码",
        is_causal,
        *(CAUSAL, REFUSED),
        modes=("training", "no gradients"),
        table=None,
    ),
    *in_modes(
        "is_causal against the mask",
        "is_causal 与掩码矛盾",
        is_causal,
        REFUSED,
        modes=("training", "no gradients"),
        table=PAST,
    ),
    asked(
        "memory_is_causal without a mask, memory of another length",
        "有 memory_is_causal 而没有掩码，memory 长度不同",
        memory_is_causal,
        REFUSED,
        table=None,
    ),
    asked(
        "memory_is_causal against memory_mask",
        "memory_is_causal 与 memory_mask 矛盾",
        memory_is_causal,
        REFUSED,
        table=torch.arange(24).view(4, 6) % 3 == 1,
    ),
    asked("a mask of 0s and 1s in floats", "浮点数的 0/1 掩码", zeros_and_ones, FORBIDS, REFUSED),
    asked(
        "is_causal for one new token over five kept (ours has a Cache for it)",
        "一个新词面对五个已存的词，is_causal（我们为此有 Cache）",
        one_new_token,
        *(SEES_ALL, REFUSED),
    ),
]
