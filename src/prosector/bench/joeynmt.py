"""JoeyNMT as a contender: a process of another Python, which has it, and which is idle until it is told to go.

JoeyNMT and what it needs would not fit beside our own packages; `benchmarks/joeynmt.sh` makes a Python for it. Its
model gets our weights under its names. Time is taken here as everybody's is: asking over a pipe takes less than a
tenth of a millisecond.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from prosector.bench import joeynmt_worker
from prosector.bench.contest import Contest
from prosector.data.batching import pad
from prosector.models.transformer import Transformer
from prosector.positions.sinusoidal import sinusoid
from prosector.text.special import EOS, PAD, SOS, UNK

LAYERS = {
    "attention.": "src_src_att.",
    "self.": "trg_trg_att.",
    "cross.": "src_trg_att.",
    "query.": "q_layer.",
    "key.": "k_layer.",
    "value.": "v_layer.",
    "output.": "output_layer.",
    "feed_forward.inner.": "feed_forward.pwff_layer.0.",
    "feed_forward.outer.": "feed_forward.pwff_layer.3.",
}
NORMS = {
    "encoder": {"norm1.": "layer_norm.", "norm2.": "feed_forward.layer_norm."},
    "decoder": {"norm1.": "x_layer_norm.", "norm2.": "dec_layer_norm.", "norm3.": "feed_forward.layer_norm."},
}
TABLES = {
    "source_embedding.weight": "src_embed.lut.weight",
    "target_embedding.weight": "trg_embed.lut.weight",
    "output.weight": "decoder.output_layer.weight",
}


def their_name(name: str) -> str:
    """What JoeyNMT calls one of our translator's weights."""
    if name in TABLES:
        return TABLES[name]
    side, place, rest = name.split(".", 2)
    if place == "final_norm":
        return f"{side}.layer_norm.{rest}"
    for ours, theirs in (NORMS[side] | LAYERS).items():
        if rest.startswith(ours) or f".{ours}" in f".{rest}":
            rest = rest.replace(ours, theirs, 1)
    return f"{side}.layers.{place}.{rest}"


def order_of(model: Transformer, threads: int) -> dict[str, Any]:
    """What JoeyNMT's process has to know of a model.

    Raises:
        ValueError: JoeyNMT has no such model; the field is named.
    """
    config = model.config
    wanted = {"activation": "relu", "norm": "layer", "bias": True, "n_kv_heads": None, "d_head": None}
    found = {field: getattr(config, field) for field in wanted}
    if others := [f"{field} {found[field]}" for field, value in wanted.items() if found[field] != value]:
        raise ValueError(f"JoeyNMT has no model with {', '.join(others)}")
    if config.position.kind != "sinusoidal" or config.tie not in ("all", "target"):
        raise ValueError(f"JoeyNMT has no model with position {config.position.kind} and tie {config.tie}")
    shared = config.tie == "all"

    def side(layers: int) -> dict[str, Any]:
        return {
            "type": "transformer",
            "num_layers": layers,
            "num_heads": config.n_heads,
            "embeddings": {"embedding_dim": config.d_model, "scale": True, "dropout": config.dropout},
            "hidden_size": config.d_model,
            "ff_size": config.d_ff,
            "dropout": config.dropout,
            "layer_norm": config.norm_placement,
        }

    table = model.target_embedding.weight
    weights = {"target_embedding.weight": table, "output.weight": table, **dict(model.named_parameters())}
    weights.pop("output.bias", None)  # it has none; `translating` says how it does without
    settings = {"encoder": side(config.encoder_layers), "decoder": side(config.decoder_layers)}
    drawn = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform", "bias_initializer": "zeros"}
    return {
        "settings": settings | drawn | {"tied_embeddings": shared, "tied_softmax": True, "embed_init_gain": 1.0},
        "weights": {their_name(name): weight.detach() for name, weight in weights.items()},
        "positions": sinusoid(torch.arange(512), config.d_model, config.position.layout),
        "eps": 1e-5,
        "ids": {"<pad>": PAD, "<unk>": UNK, "<sos>": SOS, "<eos>": EOS},
        "source_vocab": config.source_vocab,
        "target_vocab": config.target_vocab,
        "shared": shared,
        "threads": threads,
    }


class JoeyNMT:
    """Its process, from `with` to the end of the block.

    Attributes:
        versions: of JoeyNMT and of its PyTorch.
    """

    def __init__(self, python: Path, order: dict[str, Any], environment: Mapping[str, str] | None = None) -> None:
        """
        Args:
            python: of the environment that has JoeyNMT.
            order: what its process shall do.
            environment: what is set for it besides what is set here.
        """
        self.python, self.order = python, order
        self.environment = {**os.environ, **(environment or {})}
        self.versions: dict[str, str] = {}

    def __enter__(self) -> Self:
        """
        Raises:
            OSError: there is no such Python.
            RuntimeError: JoeyNMT cannot be used; its last words are told.
        """
        self.folder = tempfile.TemporaryDirectory()
        file = Path(self.folder.name, "order.pt")
        torch.save(self.order, file)
        self.said = tempfile.TemporaryFile("w+")
        pipe = subprocess.PIPE
        command = [str(self.python), "-I", joeynmt_worker.__file__, str(file)]
        try:
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=self.said, text=True, env=self.environment
            )
        except OSError as error:
            self.said.close()
            self.folder.cleanup()
            raise type(error)(f"--joeynmt {self.python}: {error.strerror}; benchmarks/joeynmt.sh makes one") from error
        try:
            self.versions = self.answer()
        except RuntimeError as error:
            self.close()
            raise ImportError(f"{error}; benchmarks/joeynmt.sh makes a Python that has it") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self.said.close()
        self.folder.cleanup()

    def answer(self) -> Any:
        """What it says next.

        Raises:
            RuntimeError: it has ended; its last words are told.
        """
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            self.said.seek(0)
            last = (self.said.read().strip().splitlines() or ["without a word"])[-1]
            raise RuntimeError(f"the process of JoeyNMT ({self.python}) ended: {last}")
        return json.loads(line)

    def do(self, word: str) -> Any:
        """Tell it to go, and wait."""
        if self.process.stdin:
            with suppress(BrokenPipeError):  # it has ended, as its answer says
                self.process.stdin.write(f"{word}\n")
                self.process.stdin.flush()
        return self.answer()


def translating(contest: Contest, beam: int, python: Path, threads: int) -> JoeyNMT:
    """The process that translates a contest's sources by `do("float32")` or `do("bf16")`.

    Raises:
        ValueError: JoeyNMT has no such model.
    """
    order = order_of(contest.model, threads) | {
        "src": pad(contest.sources),
        "beam": beam,
        "alpha": 1.0,
        "longest": contest.longest,
        # What our made-up models say by a bias, that they never end, JoeyNMT can only be told.
        "shortest": 0 if contest.references else max(contest.longest) + 1,
    }
    return JoeyNMT(python, order)


def learning(
    model: Transformer, batch: dict[str, Any], python: Path, threads: int, environment: Mapping[str, str]
) -> JoeyNMT:
    """The process that tells its untrained loss by `do("loss bf16")`, and trains by `do("step bf16")`.

    Args:
        batch: `src`, `tgt_in`, `labels`, `smoothing` and `learning_rate`.
        environment: what is set for it besides what is set here.

    Raises:
        ValueError: JoeyNMT has no such model.
    """
    return JoeyNMT(python, order_of(model, threads) | batch, environment)
