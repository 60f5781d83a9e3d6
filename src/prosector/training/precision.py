"""bf16 where the machine multiplies it faster, float32 everywhere else.

Weights, their updates, softmax, norms' statistics and losses stay in float32 either way: bf16 is for
the matrix products, by autocast.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Literal

import torch

Precision = Literal["auto", "float32", "bf16"]


def multiplies_bf16(device: torch.device) -> bool:
    """Whether bf16 products are done in hardware: AVX512-BF16 or AMX on a CPU, Ampere or later on a GPU.

    Elsewhere bf16 is emulated, several times slower than float32.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type == "cpu":
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return False


def resolve(precision: Precision, device: torch.device) -> Literal["float32", "bf16"]:
    """What "auto" means on this machine."""
    if precision == "auto":
        return "bf16" if multiplies_bf16(device) else "float32"
    return precision


def matrix_products(precision: Precision, device: torch.device) -> AbstractContextManager[object]:
    """The context in which a model's forward pass runs."""
    if resolve(precision, device) == "float32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)
