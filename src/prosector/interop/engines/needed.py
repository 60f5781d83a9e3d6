"""The libraries of the extras, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

EXTRAS = {
    "ctranslate2": "ctranslate2",
    "ctranslate2.specs": "ctranslate2",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "tokenizers": "hf",
    "transformers": "hf",
    "x_transformers": "bench",
}


def needed(library: str) -> Any:
    """A library by its name.

    Raises:
        ImportError: it is not installed; the extra that brings it is named.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise ImportError(f"this needs {library.split('.')[0]}: pip install 'prosector[{EXTRAS[library]}]'") from error
