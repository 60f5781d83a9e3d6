"""A training run that takes about as long as one says: a few steps are timed, and their number follows."""

from __future__ import annotations

import io
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from prosector.config.run import RunConfig
from prosector.data.corpus import read_split
from prosector.decoding.folder import FolderConfig, write_model
from prosector.training.report import LineReporter
from prosector.training.run import Start, prepare, start_afresh, start_from_model

FOR_STEPS = 0.9  # the share of the time that goes to steps; validations take the rest


def start_of(config: RunConfig, model: Path | None) -> Start:
    """What a run of this config will begin with: a model, or new tokenizers and the random weights of its seed."""
    torch.manual_seed(config.training.seed)
    return start_afresh(config, read_split(config.data)[0]) if model is None else start_from_model(config, model)


def write_untrained(start: Start, folder: Path) -> None:
    """A model's folder with weights that nothing has trained yet."""
    shared = start.config.data.model_dump(include={"source", "target", "source_eos", "max_tokens"})
    described = FolderConfig(**shared, model=start.config.model)
    write_model(folder, described, start.model, start.source, start.target, "# Untrained\n\nRandom weights.\n")


def fitted(start: Start, seconds: float) -> RunConfig:
    """The run's config with as many steps as fit into the time, on this machine as it is now.

    The weights of `start` are spent on the timing.
    """
    with TemporaryDirectory() as folder:
        loop = prepare(start, *read_split(start.config.data), Path(folder), LineReporter(io.StringIO()))
        loop.model.train()
        loop.update()  # the first step is always slow
        began = time.monotonic()
        while loop.step < 4 or time.monotonic() - began < min(4.0, seconds / 10):
            loop.update()
        a_step = (time.monotonic() - began) / (loop.step - 1)
    return with_steps(start.config, max(20, round(FOR_STEPS * seconds / a_step)))


def with_steps(config: RunConfig, steps: int) -> RunConfig:
    """The config for another number of steps, its warm-up and intervals in proportion."""
    save_every = max(1, steps // 20)
    changes = {"steps": steps, "warmup": steps // 10, "save_every": save_every, "validate_every": 5 * save_every}
    training = type(config.training).model_validate(config.training.model_dump() | changes)
    return config.model_copy(update={"training": training})
