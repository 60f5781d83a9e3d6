"""Any model by its name or folder, as what it can do: translate, write, …"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prosector.config.folder import PictureFolder, ReaderFolder, SegmentingFolder, TranslatorFolder, WriterFolder
from prosector.decoding.classifier import Classifier
from prosector.decoding.folder_config import read_config
from prosector.decoding.installed import find_model
from prosector.decoding.reader import Reader
from prosector.decoding.segmenter import Segmenter
from prosector.decoding.translator import Translator
from prosector.decoding.writer import TextWriter


def load_any(name_or_folder: str | Path) -> Any:
    """An installed model by its name, or that in a folder, as a `Translator`, `TextWriter`, `Reader`, …

    Raises:
        FileNotFoundError: there is no such model, or one of its files is missing.
        ValueError: a file is damaged, or the files do not fit each other.
    """
    folder = find_model(name_or_folder)
    abilities: dict[type, Any] = {
        TranslatorFolder: Translator,
        WriterFolder: TextWriter,
        ReaderFolder: Reader,
        PictureFolder: Classifier,
        SegmentingFolder: Segmenter,
    }
    return abilities[type(read_config(folder))].load(folder)
