"""Weights from and to other libraries, and the proof that the numbers are the same (`prosector conformance`).

from_torch(theirs)     one of torch.nn's six Transformer modules → the same of `prosector.nn`, called the same way
blocks_of(module)      either of them → this house's own block, as its models are built from
to_torch(ours)         a module of `prosector.nn`, or a block → torch.nn's
"""

from prosector.interop.blocks import blocks_of
from prosector.interop.torch_nn import from_torch, to_torch

__all__ = ["blocks_of", "from_torch", "to_torch"]
