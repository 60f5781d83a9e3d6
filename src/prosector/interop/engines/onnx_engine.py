"""A translator that onnxruntime runs: our decoders, with another way to compute a step.

`OnnxModel` can do what `decoding/step.py` asks of a model, so greedy decoding, sampling, beams and the repetition
guard are the ones of `decoding/`, token for token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from prosector.config.folder import TranslatorFolder
from prosector.decoding.folder_config import read_as, read_tokenizers
from prosector.decoding.translator import Translator
from prosector.interop.engines.needed import needed
from prosector.interop.engines.onnx_model import names_of_kept
from prosector.text import Tokenizer

GRAPHS = ("encoder", "first", "next")


class Kept:
    """Keys and values between steps, each [B, H, L, d], by name."""

    def __init__(self) -> None:
        self.values: dict[str, Tensor] = {}
        self.length = 0

    def __len__(self) -> int:
        """How many tokens are kept."""
        return self.length

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order."""
        self.values = {name: value.index_select(0, rows) for name, value in self.values.items()}


class OnnxModel:
    """The three graphs of a folder: an `EncoderDecoder`.

    Raises:
        ImportError: onnxruntime is not installed.
        FileNotFoundError: a graph is missing.
        ValueError: a graph cannot be read.
    """

    def __init__(self, folder: Path, config: Any) -> None:
        library = needed("onnxruntime")
        options = library.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        self.config = config
        self.n_layers: int = config.decoder_layers
        self.sessions = {}
        for name in GRAPHS:
            path = folder / f"{name}.onnx"
            if not path.is_file():
                raise FileNotFoundError(f"{folder} has no {path.name}; prosector export --to onnx writes one")
            try:
                self.sessions[name] = library.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            except Exception as error:  # the library's own classes have no common one but this
                raise ValueError(f"{path}: {error}") from error

    def run(self, name: str, **values: Tensor) -> dict[str, Tensor]:
        """What a graph makes of some values, by name."""
        session = self.sessions[name]
        wanted = [one.name for one in session.get_outputs()]
        given = {one.name: values[one.name].contiguous().numpy() for one in session.get_inputs()}
        return dict(zip(wanted, map(torch.from_numpy, session.run(wanted, given)), strict=True))

    def encode(self, src: Tensor) -> Tensor:
        """src [B, Ls] → memory [B, Ls, d]."""
        pad = self.config.special.pad
        real = torch.ones_like(src, dtype=torch.bool) if pad is None else src != pad
        return self.run("encoder", src=src, real=real)["memory"]

    def decode(self, tgt: Tensor, memory: Tensor, memory_real: Tensor, cache: Any) -> Tensor:
        """One more token a row, [B, 1] → [B, 1, V]: the graphs go on to the logits by themselves."""
        if len(cache):
            found = self.run("next", token=tgt[:, 0], real=memory_real, **cache.values)
        else:
            found = self.run("first", token=tgt[:, 0], memory=memory, real=memory_real)
        for name in names_of_kept(self.n_layers, ("self",) if len(cache) else ("self", "cross")):
            cache.values[name] = found[f"longer.{name}" if len(cache) else name]
        cache.length += 1
        return found["logits"][:, None]

    def logits(self, hidden: Tensor) -> Tensor:
        """What `decode` gave."""
        return hidden

    def new_cache(self) -> Any:
        """Nothing kept yet."""
        return Kept()


def read_onnx(folder: Path) -> tuple[TranslatorFolder, OnnxModel, Tokenizer, Tokenizer]:
    """What `export_onnx` wrote.

    Raises:
        ImportError: onnxruntime is not installed.
        FileNotFoundError, ValueError: it is no such folder, or damaged.
    """
    config = read_as(folder, TranslatorFolder, "translate")
    return config, OnnxModel(folder, config.model), *read_tokenizers(folder, config)


class OnnxTranslator(Translator):
    """A `Translator` whose steps onnxruntime computes."""

    read_folder = staticmethod(read_onnx)
