"""A training run that takes about as long as one says: a few steps are timed, and the rest follows."""

from __future__ import annotations

import time
from pathlib import Path

from prosector.config.run import RunConfig
from prosector.data.batching import Batches
from prosector.data.corpus import read_split
from prosector.decoding.folder import FolderConfig, write_model
from prosector.training.loop import Loop
from prosector.training.report import LineReporter
from prosector.training.run import Start, device_of_choice, start_afresh, start_from_model
from prosector.training.validate import Validator

FOR_STEPS = 0.85  # the share of the time that goes to steps; validations take the rest


def start_of(config: RunConfig, model: Path | None) -> Start:
    """What the run will begin with: a model, or fresh tokenizers and random weights, the same that it will draw."""
    import torch

    torch.manual_seed(config.training.seed)
    corpora, _ = read_split(config.data)
    return start_afresh(config, corpora) if model is None else start_from_model(config, model)


def write_untrained(start: Start, folder: Path) -> None:
    """A model's folder with weights that nothing has trained yet."""
    data = start.config.data
    described = FolderConfig(
        source=data.source,
        target=data.target,
        source_eos=data.source_eos,
        max_tokens=data.max_tokens,
        model=start.config.model,
    )
    write_model(folder, described, start.model, start.source, start.target, "# Untrained\n\nRandom weights.\n")


def fitted(start: Start, seconds: float, folder: Path) -> RunConfig:
    """The run's config with as many steps as fit into the time on this machine as it is now.

    The weights of `start` are spent on the timing.
    """
    config, device = start.config, device_of_choice()
    corpora, dev = read_split(config.data)
    weights = [file.weight for file in config.data.train]
    batches = Batches(corpora, weights, start.source, start.target, config.data, config.training.seed)
    validator = Validator(dev, start.source, start.target, config, device)
    folder.mkdir(parents=True, exist_ok=True)
    loop = Loop(config, start.model.to(device), batches, validator, folder, LineReporter())
    loop.model.train()
    loop.update()  # the first step is always slow
    rehearsal = min(4.0, seconds / 10)
    began = time.monotonic()
    while time.monotonic() - began < rehearsal:
        loop.update()
    a_step = (time.monotonic() - began) / (loop.step - 1)
    return with_steps(config, max(20, round(FOR_STEPS * seconds / a_step)))


def with_steps(config: RunConfig, steps: int) -> RunConfig:
    """The config for another number of steps, its warm-up and intervals in proportion."""
    save_every = max(1, steps // 20)
    changes = {"steps": steps, "warmup": steps // 10, "save_every": save_every, "validate_every": 5 * save_every}
    training = type(config.training).model_validate(config.training.model_dump() | changes)
    return config.model_copy(update={"training": training})
