"""From a translator's folder to one that another engine runs; it is written whole or not at all.

Either holds our config.json and tokenizers, so that texts are cut up and put together as ever:

    ctranslate2/        model.bin, config.json and vocabularies, which `ctranslate2.Translator` reads
    model.safetensors   of ONNX: the weights, in float32; `encoder.onnx`, `first.onnx` and `next.onnx` point into it
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, Literal

from prosector.config.folder import TranslatorFolder
from prosector.decoding.folder import exchange, read_model
from prosector.decoding.folder_config import read_as
from prosector.interop.engines.ctranslate2_engine import INSIDE
from prosector.interop.engines.ctranslate2_spec import require_ctranslate2, spec_of
from prosector.interop.engines.needed import needed
from prosector.interop.engines.onnx_graph import WEIGHTS, Graph, places
from prosector.interop.engines.onnx_model import encoder, require_onnx, step
from prosector.models.transformer import Transformer
from prosector.models.weights import save_weights
from prosector.text import Tokenizer, save_tokenizers

Quantization = Literal["float32", "int8"]

README = """# {name}

{summary}, from {source} to {target}, written for {engine} by `prosector export`: the weights of `{name}`, in
{quantization}. Its data, its figures and its licence are those of the original.

`prosector translate --engine {option} --model FOLDER` uses it.
"""


def export_ctranslate2(folder: Path, out: Path, quantization: Quantization = "float32") -> None:
    """Write a translator for CTranslate2.

    Args:
        folder: the translator's.
        out: the folder to write.
        quantization: of the matrices.

    Raises:
        ImportError: ctranslate2 is not installed.
        FileExistsError: there is a model at that place.
        ValueError: it is no translator, or CTranslate2 cannot express a field; all such fields are named.
    """
    needed("ctranslate2")
    require_free(out)
    require_ctranslate2(read_as(folder, TranslatorFolder, "translate").model)  # type: ignore[arg-type]
    config, model, *tokenizers = read_model(folder)
    spec = spec_of(config, model, *tokenizers)  # type: ignore[arg-type]
    spec.optimize(quantization)

    def write(beside: Path) -> None:
        (beside / INSIDE).mkdir()
        spec.save(str(beside / INSIDE))

    text = readme(folder, config, "CTranslate2", "ctranslate2", quantization)
    write_folder(out, config, tokenizers, text, write)


def export_onnx(folder: Path, out: Path) -> None:
    """Write a translator as graphs of ONNX.

    Args:
        folder: the translator's.
        out: the folder to write.

    Raises:
        ImportError: onnx is not installed.
        FileExistsError: there is a model at that place.
        ValueError: it is no translator, or a field is not written down in ONNX; all such fields are named.
    """
    needed("onnx")
    require_free(out)
    require_onnx(read_as(folder, TranslatorFolder, "translate").model)  # type: ignore[arg-type]
    config, model, *tokenizers = read_model(folder)

    def write(beside: Path) -> None:
        save_weights(model, beside / WEIGHTS)
        write_graphs(model, beside)  # type: ignore[arg-type]

    write_folder(out, config, tokenizers, readme(folder, config, "onnxruntime", "onnx", "float32"), write)


def write_graphs(model: Transformer, folder: Path) -> None:
    """The three graphs, beside the weights that they point to."""
    where = places(folder / WEIGHTS)
    encoder(model, whole := Graph(model, where))
    whole.save(folder / "encoder.onnx", "source ids to memory")
    for name, is_first in (("first", True), ("next", False)):
        step(model, graph := Graph(model, where), is_first)
        graph.save(folder / f"{name}.onnx", f"the decoder's {name} step")


def require_free(out: Path) -> None:
    """Raises FileExistsError if there is a model at that place."""
    if (out / "config.json").exists():
        raise FileExistsError(f"{out} holds a model already; choose another --out, or remove it")


def readme(folder: Path, config: TranslatorFolder, engine: str, option: str, quantization: str) -> str:
    """The folder's README."""
    return README.format(
        name=folder.name,
        summary=config.model.summary(),
        source=config.source,
        target=config.target,
        engine=engine,
        option=option,
        quantization=quantization,
    )


def write_folder(out: Path, config: TranslatorFolder, tokenizers: list[Tokenizer], text: str, write: Any) -> None:
    """Write beside the place what every such folder has, let `write` add its own, and move all there."""
    out.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix=".new-", dir=out) as new,
        tempfile.TemporaryDirectory(prefix=".old-", dir=out) as old,
    ):
        beside = Path(new)
        write(beside)
        save_tokenizers(beside, *tokenizers)
        (beside / "README.md").write_text(text, "utf-8")
        document = json.dumps(config.model_dump(mode="json"), indent=2, ensure_ascii=False)
        (beside / "config.json").write_text(document + "\n", "utf-8")
        exchange(out, beside, Path(old))
