"""Tensors for the page: their shape, and their numbers as base64, so that a browser reads them without parsing.

A float32 arrives with all its bits. Where a page would grow too large, float16 halves it: three digits.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, Literal

import torch
from torch import Tensor

Precision = Literal["f4", "f2"]
TYPES = {"f4": torch.float32, "f2": torch.float16}


def packed(values: Tensor, precision: Precision = "f4") -> dict[str, Any]:
    """A tensor as the page takes it: {shape, type, data}, little-endian.

    What float16 cannot hold is cut to the largest that it can.
    """
    wide = values.detach().to("cpu", torch.float32)
    if precision == "f2":
        largest = torch.finfo(torch.float16).max
        wide = wide.clamp(-largest, largest)
    data = wide.to(TYPES[precision]).contiguous().numpy()
    raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
    return {"shape": list(values.shape), "type": precision, "data": b64encode(raw).decode("ascii")}
