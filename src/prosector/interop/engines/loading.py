"""A translator by the name of its engine."""

from __future__ import annotations

from pathlib import Path

from prosector.decoding.translator import Translator
from prosector.interop.engines.ctranslate2_engine import CTranslate2Translator
from prosector.interop.engines.onnx_engine import OnnxTranslator

ENGINES: dict[str, type[Translator]] = {"ctranslate2": CTranslate2Translator, "onnx": OnnxTranslator}


def load_engine(name: str, folder: str | Path) -> Translator:
    """The translator in a folder that was exported for an engine.

    Raises:
        ImportError: the engine's library is not installed; the extra is named.
        FileNotFoundError: there is no such folder, or it was exported for nothing or for another engine.
        ValueError: there is no such engine, or a file is damaged.
    """
    if name not in ENGINES:
        raise ValueError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
    return ENGINES[name].load(folder)
