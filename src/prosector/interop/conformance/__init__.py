"""Is ours equal to the references? A section each, computed when it is asked for.

Another reference is another function in SECTIONS.
"""

from collections.abc import Callable

from prosector.interop.conformance.hugging_face import hugging_face
from prosector.interop.conformance.report import Section, page
from prosector.interop.conformance.torch_nn import torch_nn

SECTIONS: dict[str, Callable[[], Section]] = {"torch.nn": torch_nn, "transformers": hugging_face}

__all__ = ["SECTIONS", "Section", "page"]
