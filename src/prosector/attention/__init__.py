"""The centre of the house: scores, mask, softmax, weighted sum."""

from prosector.attention.additive import AdditiveAttention
from prosector.attention.cache import Cache, KeysValues
from prosector.attention.dropout import Dropout
from prosector.attention.functional import attention, attention_weights, self_attention
from prosector.attention.gate import AttentionGate
from prosector.attention.heads import Heads
from prosector.attention.kernels import Kernel, flex, sdpa
from prosector.attention.long import blockwise
from prosector.attention.masks import Mask
from prosector.attention.multihead import MultiHeadAttention
from prosector.attention.packing import without_padding
from prosector.attention.scope import Scope
from prosector.attention.short import written_out

KERNELS: dict[str, Kernel] = {"written-out": written_out, "sdpa": sdpa, "blockwise": blockwise, "flex": flex}

__all__ = [
    "KERNELS",
    "AdditiveAttention",
    "AttentionGate",
    "Cache",
    "Dropout",
    "Heads",
    "KeysValues",
    "Mask",
    "MultiHeadAttention",
    "Scope",
    "attention",
    "attention_weights",
    "blockwise",
    "flex",
    "sdpa",
    "self_attention",
    "without_padding",
    "written_out",
]
