"""A run from beginning to end: data, tokenizers, model, loop, and the folder that comes out.

OUT/            the model: config.json, model.safetensors, tokenizers, README.md
OUT/training/   the run's config, its checkpoints and log; may be deleted once the run is done
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file

from prosector.config.base import Config
from prosector.config.pictures import PictureRunConfig
from prosector.config.reading import LabellingConfig, ReadingConfig
from prosector.config.run import AnyRun, RunConfig
from prosector.config.segmenting import SegmentingRunConfig
from prosector.config.tokens import TokensConfig
from prosector.config.transformer import TransformerConfig
from prosector.config.writing import WritingConfig
from prosector.decoding.folder import write_model
from prosector.models.weights import load_weights, replace_text, save_weights
from prosector.text import save_tokenizers
from prosector.training.classifying import Classifying
from prosector.training.labelling import Labelling
from prosector.training.loop import Loop
from prosector.training.place import config_of, locked, require_empty
from prosector.training.precision import resolve
from prosector.training.reading import Reading
from prosector.training.readme import Story, model_readme
from prosector.training.report import Reporter
from prosector.training.segmenting import Segmenting
from prosector.training.task import Validation
from prosector.training.translation import Translation
from prosector.training.work import Start, Work
from prosector.training.writing import Writing


class Outcome(NamedTuple):
    """What came out of a run: which weights were chosen, how they do on the development data, after which step."""

    chosen: str
    validation: Validation
    step: int


def work_of(config: AnyRun) -> Work:
    """The family that a config belongs to."""
    works: dict[type, type[Work]] = {
        RunConfig: Translation,
        WritingConfig: Writing,
        ReadingConfig: Reading,
        LabellingConfig: Labelling,
        PictureRunConfig: Classifying,
        SegmentingRunConfig: Segmenting,
    }
    return works[type(config)](config)


def fingerprint(content: Iterable[bytes]) -> str:
    """A digest of all data in order, so that a run is not resumed on others."""
    digest = hashlib.sha256()
    for part in content:
        digest.update(part)
    return digest.hexdigest()


def start_again(work: Work, folder: Path, digest: str) -> Start:
    """What an earlier run in this folder began with.

    Raises:
        ValueError: the data changed since.
    """
    if (folder / "data.sha256").read_text(encoding="utf-8").strip() != digest:
        raise ValueError(f"the data are not those that {folder} was begun with; give the same files in the same order")
    notes = json.loads(path.read_text("utf-8")) if (path := folder / "notes.json").exists() else {}
    return work.again(folder)._replace(**notes)


def write_start(folder: Path, start: Start, digest: str) -> None:
    """Keep what a run begins with, so that it can be resumed."""
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizers(folder, *start.tokenizers)
    replace_text(folder / "data.sha256", digest + "\n")
    notes = {"began_as": start.began_as, "command": start.command}
    replace_text(folder / "notes.json", json.dumps(notes, ensure_ascii=False) + "\n")
    replace_text(folder / "run.json", start.config.model_dump_json(indent=2) + "\n")


def train(
    config: AnyRun,
    folder: Path,
    reporter: Reporter,
    *,
    start_from: Path | None = None,
    resume: bool = False,
    command: str = "",
) -> Outcome:
    """Run a config into a folder, and leave a model there.

    Args:
        start_from: a model to train further.
        resume: go on with the run that the folder holds, with its own config.
        command: how it was called, for the model's README.

    Raises:
        ValueError: there is nothing to train on or to resume, or something would be overwritten.
        InterruptedRunError: the run was asked to stop; it can be resumed.
    """
    place = folder / "training"
    if resume:
        config = config_of(folder)
    else:
        require_empty(folder)
    if config.training.threads:
        torch.set_num_threads(config.training.threads)

    work = work_of(config)
    reporter.say(f"reading the {work.reads}")
    work.read()
    digest = fingerprint(work.content())
    with locked(place):
        if not resume:
            require_empty(folder)  # another run may have come in between
        torch.manual_seed(config.training.seed)
        if resume:
            start = start_again(work, place, digest)
        else:
            start = work.afresh() if start_from is None else work.further(start_from)
            require_trainable(start.config.model)
            start = start._replace(command=command)
            write_start(place, start, digest)
        loop = prepare(work, start, place, reporter)
        if resume:
            loop.restore()
        else:
            loop.log.cut(0)  # of a run that was killed before its first checkpoint
        loop.run()
        return finish(loop, work, start, folder)


def prepare(work: Work, start: Start, folder: Path, reporter: Reporter) -> Loop:
    """The loop over the encoded data, on the device that there is."""
    config, model = start.config, start.model
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if getattr(config.model, "kernel", "") == "flex" and device.type == "cpu":
        raise ValueError('model.kernel="flex" has no gradients on a CPU; train with "sdpa" or "written-out"')
    task = work.task(start, device)
    reporter.say(
        f"{work.counted(task)}; {sum(p.numel() for p in model.parameters()):,} weights; "
        f"{resolve(config.training.precision, device)} on {device}"
    )
    d_model = getattr(config.model, "d_model", 0)  # for the schedule of 2017 alone
    return Loop(config.training, d_model, model.to(device), task, folder, reporter)


def finish(loop: Loop, work: Work, start: Start, folder: Path) -> Outcome:
    """Of the last weights, the best, and the mean of the last few, keep what does best on the development data."""
    save_weights(loop.model, loop.folder / "last.safetensors")
    candidates = {"last": load_file(loop.folder / "last.safetensors"), "average": loop.averaged()}
    if loop.best_step != loop.step and (loop.folder / "best.safetensors").exists():
        candidates["best"] = load_file(loop.folder / "best.safetensors")
    dtype = {"float32": torch.float32, "float16": torch.float16}[start.config.training.save_as]
    results: dict[str, Validation] = {}
    for name, weights in candidates.items():
        load_weights(loop.model, {key: value.to(dtype) for key, value in weights.items()}, name)  # as they will be kept
        results[name] = loop.measured()
        loop.note_validation(name, results[name], final=True)
    chosen = max(results, key=lambda name: results[name].figure)
    load_weights(loop.model, candidates[chosen], chosen)

    precision = resolve(start.config.training.precision, loop.device)
    story = Story(loop.step, loop.size, loop.task.unit, precision, loop.seconds, start.began_as, start.command)
    readme = model_readme(start.config, work.about(start.config), chosen, results, story)
    write_model(folder, work.described(start.config, loop.model), loop.model, start.tokenizers, readme, dtype)
    return Outcome(chosen, results[chosen], loop.step)


def require_trainable(model: Config) -> None:
    """Make sure that the loss knows all that a model's logits are made of.

    Raises:
        ValueError: its special ids are not ours, or its words have biases, which the loss in pieces leaves out.
    """
    if isinstance(model, TokensConfig):
        model.special.require_ours("training")
    if isinstance(model, TransformerConfig) and model.output_bias:
        raise ValueError("model.output_bias is for imported models, and training knows nothing of it; leave it false")
