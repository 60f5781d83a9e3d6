"""Prosector: the Transformer taken apart, put together again, trained, and looked into.

    import prosector

    translator = prosector.load("zh-en")
    translator.translate(["我喜欢深度学习。"])

Importing this loads nothing heavy; PyTorch comes with the first model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

if TYPE_CHECKING:
    from pathlib import Path

    from prosector.decoding.native import NativeTranslator
    from prosector.decoding.translator import Translator

__version__ = "0.1.0"

__all__ = ["__version__", "load"]


@overload
def load(model: Literal["zh-en", "en-zh"], engine: Literal["pytorch"] = "pytorch") -> Translator: ...
@overload
def load(model: str | Path, engine: Literal["native"]) -> NativeTranslator: ...
@overload
def load(model: str | Path, engine: Literal["pytorch"] = "pytorch") -> Any: ...
def load(model: str | Path, engine: Literal["pytorch", "native"] = "pytorch") -> Any:
    """A model: an installed one by its name, such as `zh-en` or `en-zh`, or the one in a folder.

    After `hf:`, a model of Hugging Face's: a folder of theirs, or a name on the Hub (`hf:openai-community/gpt2`).

    What comes is what it can do. A `Translator` translates: `translate` takes a text or several, and by name the fields
    of `prosector.config.decoding.DecodingConfig`, `translate(texts, beam=8)`; `hypotheses(texts, n_best=4)` gives
    several translations with their scores. A `TextWriter` (GPT) writes: `write(beginning)`, or `stream(beginning)`,
    bit by bit. A `Classifier` (ViT, ConvTransformer) says what pictures are of: `predict(files)`.
    A `Reader` (BERT) fills gaps: `fill("我[MASK]深度学习")`.

    With `engine="native"` a translator is run by the core in C++, in 8-bit integers and without PyTorch: many times as
    fast, `stream` gives words as they are found, and `shortlist=True` writes only likely ones.

    Raises:
        FileNotFoundError: there is no such model; the installed ones are named.
        ImportError: the core was asked for, and is not installed.
        ValueError: the model's files are damaged, or do not fit each other, or the core does not know such a model.
    """
    if engine not in ("pytorch", "native"):
        raise ValueError(f"engine {engine!r}: there are pytorch and native")
    if engine == "native":
        from prosector.decoding.installed import find_model
        from prosector.decoding.native import NativeTranslator

        return NativeTranslator.load(find_model(model))
    if str(model).startswith("hf:"):
        from prosector.interop.hugging_face.folder import load_hugging_face

        return load_hugging_face(str(model).removeprefix("hf:"))
    from prosector.decoding.any_model import load_any

    return load_any(model)
