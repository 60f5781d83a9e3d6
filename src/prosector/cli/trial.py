"""A training run that takes about as long as one says: a few steps are timed, and their number follows."""

from __future__ import annotations

import io
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import torch

from prosector.config.run import AnyRun
from prosector.decoding.folder import write_model
from prosector.training.report import LineReporter
from prosector.training.run import prepare, work_of
from prosector.training.work import Start, Work

Run = TypeVar("Run", bound=AnyRun)

FOR_STEPS = 0.9  # the share of the time that goes to steps; validations take the rest
LONGEST_TRIAL = 15.0  # seconds; a step of a new shape is slow the first time, so the later half is what counts


def begun(config: AnyRun, model: Path | None) -> tuple[Work, Start]:
    """What a run of this config will begin with: a model, or new tokenizers and the random weights of its seed."""
    torch.manual_seed(config.training.seed)
    work = work_of(config)
    work.read()
    return work, work.afresh() if model is None else work.further(model)


def write_untrained(work: Work, start: Start, folder: Path) -> None:
    """A model's folder with weights that nothing has trained yet."""
    readme = "# Untrained\n\nRandom weights.\n"
    write_model(folder, work.described(start.config, start.model), start.model, start.tokenizers, readme)


def fitted(work: Work, start: Start, seconds: float) -> Any:
    """The run's config with as many steps as fit into the time, on this machine as it is now.

    The weights of `start` are spent on the timing.
    """
    with TemporaryDirectory() as folder:
        loop = prepare(work, start, Path(folder), LineReporter(io.StringIO()))
        loop.model.train()
        taken = [timed(loop.update)]
        while len(taken) < 6 or sum(taken) < min(LONGEST_TRIAL, seconds / 15):
            taken.append(timed(loop.update))
    a_step = statistics.median(taken[len(taken) // 2 :])
    return with_steps(start.config, max(20, round(FOR_STEPS * seconds / a_step)))


def timed(act: Callable[[], object]) -> float:
    """How many seconds something takes."""
    began = time.monotonic()
    act()
    return time.monotonic() - began


def with_steps(config: Run, steps: int) -> Run:
    """The config for another number of steps, its warm-up and intervals in proportion."""
    save_every = max(1, steps // 20)
    changes = {"steps": steps, "warmup": steps // 10, "save_every": save_every, "validate_every": 5 * save_every}
    training = type(config.training).model_validate(config.training.model_dump() | changes)
    return cast("Run", config.model_copy(update={"training": training}))
