"""A model of theirs as what it can do, or as a folder of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prosector.config.folder import PictureFolder, ReaderFolder, TranslatorFolder, WriterFolder
from prosector.decoding.classifier import Classifier
from prosector.decoding.folder import write_model
from prosector.decoding.reader import Reader
from prosector.decoding.translator import Translator
from prosector.decoding.writer import TextWriter
from prosector.interop.hugging_face.hub import folder_of
from prosector.interop.hugging_face.importing import read_folder
from prosector.interop.hugging_face.whole import Whole, whole_of

ABILITIES: dict[type, Any] = {
    TranslatorFolder: Translator,
    WriterFolder: TextWriter,
    ReaderFolder: Reader,
    PictureFolder: Classifier,
}
README = """# {name}

Imported from the Hugging Face model `{name}`, a {architecture}: its weights in float32, its tokenizer as it was. Its
data, its figures and its licence are those of the original.

{summary}.
"""


def load_hugging_face(name_or_folder: str | Path) -> Any:
    """A model of theirs, from a folder or by its name, as a `Translator`, `TextWriter`, `Reader` or `Classifier`.

    Raises:
        FileNotFoundError: there is no such model, or a file is missing.
        ValueError: it cannot be read as one of ours; why is said.
    """
    found = whole_of(read_folder(folder_of(name_or_folder)))
    return ABILITIES[type(found.config)](found.config, found.model, *found.tokenizers)


def import_folder(name_or_folder: str | Path, out: Path) -> Whole:
    """Write a model of theirs as a folder of ours; raises as `load_hugging_face` does.

    Raises:
        FileExistsError: there is a model at that place.
    """
    if (out / "config.json").exists():
        raise FileExistsError(f"{out} holds a model already; choose another --out, or remove it")
    found = read_folder(folder_of(name_or_folder))
    whole = whole_of(found)
    readme = README.format(
        name=Path(name_or_folder).name if Path(name_or_folder).is_dir() else name_or_folder,
        architecture=found.architecture.classes[0],
        summary=found.model.config.summary(),
    )
    write_model(out, whole.config, whole.model, whole.tokenizers, readme)
    return whole
