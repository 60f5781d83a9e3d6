"""The training loop: a batch, a loss, a gradient, a step; now and then a checkpoint and a validation.

A run is a function of its config and its data. Stopped at any moment and resumed, it ends with the
same bits as a run that was never stopped: everything that changes is in the checkpoint.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

from prosector.attention.packing import without_padding
from prosector.config.training import TrainingConfig
from prosector.models.weights import load_weights, save_weights, weights_of
from prosector.training.checkpoint import Log, average, load_state, save_state
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import matrix_products
from prosector.training.report import Reporter
from prosector.training.schedule import learning_rate
from prosector.training.task import Batch, Task, Validation


class InterruptedRunError(Exception):
    """The run was asked to stop; its checkpoint is written."""


class Loop:
    """One run: the model, the optimiser, the place in the data, and what was best so far."""

    COUNTERS = ("step", "epoch", "place", "size", "seconds", "best", "best_step", "stale")

    def __init__(
        self,
        training: TrainingConfig,
        d_model: int,
        model: nn.Module,
        task: Task,
        folder: Path,
        reporter: Reporter,
    ) -> None:
        self.training, self.d_model, self.model, self.task = training, d_model, model, task
        self.folder, self.reporter = folder, reporter
        self.device = next(model.parameters()).device
        self.optimizer = build_optimizer(model, training)
        self.step = 0
        self.epoch, self.place = 0, 0  # the next batch to take
        self.size = 0  # all target tokens, or pictures, so far
        self.seconds = 0.0
        self.best, self.best_step, self.stale = -math.inf, 0, 0
        self.order: list[list[int]] | None = None
        self.asked_to_stop = False
        self.log = Log(folder / "log.jsonl")

    # What a checkpoint holds

    def save(self) -> None:
        """Write the state, and the weights as one of the checkpoints to be averaged."""
        save_weights(self.model, self.checkpoint_path(self.step))
        save_state(
            self.folder / "state.pt",
            {
                "weights": weights_of(self.model),
                "optimizer": self.optimizer.state_dict(),
                "random": torch.get_rng_state(),
                "random_cuda": torch.cuda.get_rng_state_all() if self.device.type == "cuda" else [],
                "counters": {name: getattr(self, name) for name in self.COUNTERS},
            },
        )
        kept = {self.checkpoint_path(step) for step in self.checkpoint_steps()}
        for path in self.folder.glob("step-*.safetensors"):
            if path not in kept:
                path.unlink()

    def restore(self) -> None:
        """Go back to the last checkpoint."""
        state = load_state(self.folder / "state.pt")
        load_weights(self.model, state["weights"], str(self.folder / "state.pt"))
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state_all(state["random_cuda"])
        for name in self.COUNTERS:
            setattr(self, name, state["counters"][name])
        self.log.cut(self.step)

    def checkpoint_path(self, step: int) -> Path:
        return self.folder / f"step-{step:06d}.safetensors"

    def checkpoint_steps(self) -> list[int]:
        """The last few steps at which weights were saved, up to now."""
        every, now = self.training.save_every, self.step
        steps = list(range(every, now + 1, every))
        if now == self.training.steps and now % every:
            steps.append(now)
        return steps[-self.training.average :]

    # One step

    def next_batch(self) -> Batch:
        """The next batch of the epoch, or the first of the next one."""
        if self.order is None:
            self.order = self.task.epoch(self.epoch)
        if self.place >= len(self.order):
            self.epoch, self.place = self.epoch + 1, 0
            self.order = self.task.epoch(self.epoch)
        batch = self.task.batch(self.order[self.place], self.epoch)
        self.place += 1
        return batch.to(self.device)

    def update(self) -> tuple[float, float, float, int]:
        """One update of the weights.

        Returns:
            The loss, the gradient's norm, the learning rate, and how many target tokens or pictures were seen.

        Raises:
            ValueError: the loss or the gradient is no longer a finite number.
        """
        training = self.training
        batches = [self.next_batch() for _ in range(training.accumulate)]
        size = sum(batch.size for batch in batches)
        total = 0.0
        for batch in batches:
            with matrix_products(training.precision, self.device), without_padding():
                loss = self.task.loss(self.model, batch, size)
            loss.backward()
            total += loss.item()
        norm = clip_grad_norm_(self.model.parameters(), training.clip).item()
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise ValueError(
                f"step {self.step + 1}: the loss is {total:g} and the gradient's norm {norm:g}, so nothing more can be "
                f"learned; begin anew with training.learning_rate below {training.learning_rate:g}, or a longer warm-up"
            )
        rate = learning_rate(training, self.step + 1, self.d_model)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.size += size
        return total, norm, rate, size

    # The whole run

    def run(self) -> None:
        """Train to the last step, or until validation stops getting better.

        Raises:
            InterruptedRunError: on Ctrl-C or a request to terminate, after the checkpoint was written.
        """
        training = self.training
        self.model.train()
        self.reporter.start(self.step, training.steps, self.task.unit)
        with self.stoppable():
            while self.step < training.steps and not self.out_of_patience():
                began = time.monotonic()
                loss, norm, rate, size = self.update()
                self.seconds += time.monotonic() - began
                self.reporter.step(self.step, loss, rate, size)
                if self.step % 10 == 0 or self.step == 1:
                    self.note({"loss": loss, "gradient_norm": norm, "learning_rate": rate})
                last = self.step == training.steps
                if self.step % training.validate_every == 0 or last:
                    self.validate()
                if self.step % training.save_every == 0 or last or self.asked_to_stop:
                    self.save()
                if self.asked_to_stop and not last:
                    raise InterruptedRunError
        self.reporter.stop()

    def validate(self) -> None:
        """Measure on what is kept for choosing, and keep the weights if they are the best so far."""
        result = self.measured(self.training.validate_pairs)
        self.note_validation("last", result)
        self.reporter.validated(self.step, result.text(), result.samples)
        if result.figure > self.best:
            self.best, self.best_step, self.stale = result.figure, self.step, 0
            save_weights(self.model, self.folder / "best.safetensors")
        else:
            self.stale += 1

    def measured(self, limit: int | None = None) -> Validation:
        """How the model does now; it is left in training."""
        self.model.eval()
        result = self.task.validate(self.model, limit)
        self.model.train()
        return result

    def out_of_patience(self) -> bool:
        """Whether too many validations in a row brought nothing better."""
        return self.training.patience is not None and self.stale >= self.training.patience

    def averaged(self) -> dict[str, torch.Tensor]:
        """The mean of the last few checkpoints."""
        return average([path for step in self.checkpoint_steps() if (path := self.checkpoint_path(step)).exists()])

    def note(self, record: dict[str, Any]) -> None:
        """Write a record to the log, with where the run is."""
        size = {self.task.unit.split()[-1]: self.size}
        where = {"step": self.step, "epoch": self.epoch, **size, "seconds": round(self.seconds, 1)}
        self.log.write(where | record)

    def note_validation(self, weights: str, result: Validation, **more: Any) -> None:
        """Write a validation to the log."""
        scores = {name.lower(): value for name, value in result.scores.items()}
        self.note({"weights": weights, "dev_loss": result.loss, **scores, **more})

    @contextmanager
    def stoppable(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM end the step in hand and save, instead of tearing it apart."""

        def ask(signum: int, frame: object) -> None:
            if self.asked_to_stop:  # asked twice: at once, with the checkpoint before
                raise KeyboardInterrupt
            self.asked_to_stop = True
            self.reporter.say("stopping after this step; again to stop at once")

        if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
            yield
            return
        previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            for number in previous:
                signal.signal(number, ask)
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
