"""A run from beginning to end: data, tokenizers, model, loop, and the folder that comes out.

OUT/            the model: config.json, model.safetensors, tokenizers, README.md
OUT/training/   the run's config, its checkpoints and log; may be deleted once the run is done
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load_file

from prosector.config.model import n_positions, require_room
from prosector.config.run import RunConfig
from prosector.data.batching import Batches, share
from prosector.data.corpus import Pair, read_split
from prosector.decoding.folder import FolderConfig, read_model, write_model
from prosector.models.seq2seq import Seq2Seq
from prosector.models.weights import load_weights, replace_text, save_weights, weights_of
from prosector.text import Tokenizer, load_tokenizers, save_tokenizers, train_tokenizers
from prosector.training.loop import Loop
from prosector.training.precision import resolve
from prosector.training.readme import Story, model_readme
from prosector.training.report import Reporter
from prosector.training.validate import Validation, Validator


class Outcome(NamedTuple):
    """What came out of a run: which weights were chosen, how they do on the development pairs, after which step."""

    chosen: str
    validation: Validation
    step: int


class Start(NamedTuple):
    """What a run begins with; the config has the vocabularies' real sizes."""

    config: RunConfig
    model: Seq2Seq
    source: Tokenizer
    target: Tokenizer
    began_as: str = ""  # the model that is trained further
    command: str = ""  # with which it was called


def fingerprint(corpora: Sequence[Sequence[Pair]]) -> str:
    """A digest of all pairs in order, so that a run is not resumed on other data."""
    digest = hashlib.sha256()
    for corpus in corpora:
        for pair in corpus:
            digest.update(f"{pair.source}\t{pair.target}\n".encode())
        digest.update(b"\0")
    return digest.hexdigest()


def learn_tokenizers(config: RunConfig, corpora: Sequence[Sequence[Pair]]) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers from the training pairs alone, in the proportions of an epoch."""
    pairs = [
        corpus[i]
        for corpus, file in zip(corpora, config.data.train, strict=True)
        for i in share(range(len(corpus)), file.weight, 0, config.training.seed)
    ]
    sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
    return train_tokenizers(config.tokenizer, sources, targets, config.data.source, config.data.target)


def with_model(config: RunConfig, **changes: object) -> RunConfig:
    """The config with some of the model's fields changed, and checked again."""
    model = type(config.model).model_validate(config.model.model_dump() | changes)
    require_room(model, config.data.max_tokens)
    return config.model_copy(update={"model": model})


def start_afresh(config: RunConfig, corpora: Sequence[Sequence[Pair]]) -> Start:
    """New tokenizers and new weights."""
    source, target = learn_tokenizers(config, corpora)
    config = with_model(config, source_vocab=source.vocab_size, target_vocab=target.vocab_size)
    return Start(config, config.model.build(), source, target)


def start_from_model(config: RunConfig, folder: Path) -> Start:
    """The tokenizers, architecture and weights of a model, to be trained further; only dropout is the config's.

    Raises:
        ValueError: the model translates in another direction.
    """
    found, given, source, target = read_model(folder)
    if (found.source, found.target) != (config.data.source, config.data.target):
        raise ValueError(
            f"{folder} translates {found.source} to {found.target}, this run {config.data.source} to "
            f"{config.data.target}; set data.source and data.target, or start from another model"
        )
    both = type(config.model).model_fields.keys() & type(found.model).model_fields.keys()
    dropout = {name: getattr(config.model, name) for name in both & {"dropout", "attention_dropout"}}
    config = config.model_copy(update={"model": found.model})
    config = with_model(config, **dropout)
    model = config.model.build()
    load_weights(model, weights_of(given), str(folder))
    return Start(config, model, source, target, folder.name)


def start_again(folder: Path, digest: str) -> Start:
    """What an earlier run in this folder began with.

    Raises:
        ValueError: the data changed since.
    """
    config = RunConfig.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
    if (folder / "data.sha256").read_text(encoding="utf-8").strip() != digest:
        raise ValueError(f"the data are not those that {folder} was begun with; give the same files in the same order")
    notes = json.loads(path.read_text("utf-8")) if (path := folder / "notes.json").exists() else {}
    return Start(config, config.model.build(), *load_tokenizers(folder), **notes)


def write_start(folder: Path, start: Start, digest: str) -> None:
    """Keep what a run begins with, so that it can be resumed."""
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizers(folder, start.source, start.target)
    replace_text(folder / "data.sha256", digest + "\n")
    notes = {"began_as": start.began_as, "command": start.command}
    replace_text(folder / "notes.json", json.dumps(notes, ensure_ascii=False) + "\n")
    replace_text(folder / "run.json", start.config.model_dump_json(indent=2) + "\n")


def config_of(folder: Path) -> RunConfig:
    """The config of the run that a folder holds.

    Raises:
        ValueError: it holds none that could go on.
    """
    if not (folder / "training" / "state.pt").is_file():
        raise ValueError(f"{folder} holds no run to resume: it has no training/state.pt; start it without --resume")
    return RunConfig.model_validate_json((folder / "training" / "run.json").read_text(encoding="utf-8"))


def require_empty(folder: Path) -> None:
    """A run begins in a folder of its own.

    Raises:
        ValueError: the folder holds a model, a run, or something else.
    """
    if (folder / "training" / "state.pt").exists() or (folder / "config.json").exists():
        raise ValueError(f"{folder} already holds a model or a run; --resume goes on with it, or choose another --out")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; --out names a folder for the model")
    others = sorted(path.name for path in folder.iterdir() if path.name != "training") if folder.exists() else []
    if others:
        raise ValueError(f"{folder} is not empty (it holds {others[0]}); choose a new folder for the model")


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second run out of a folder for as long as this one lasts; a killed one lets go too.

    Raises:
        ValueError: a run is in it now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ValueError(f"another run is in {folder.parent} now; wait for it, or choose another --out") from error
        yield


def train(
    config: RunConfig,
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
    work = folder / "training"
    if resume:
        config = config_of(folder)
    else:
        require_empty(folder)
    if config.training.threads:
        torch.set_num_threads(config.training.threads)

    reporter.say("reading the sentence pairs")
    corpora, dev = read_split(config.data)
    if not config.data.train:
        raise ValueError("there is nothing to train on: name files with --data, or in the preset's data.train")
    if not any(corpora) or not dev:
        n_pairs = sum(map(len, corpora))
        raise ValueError(f"there are too few pairs: {n_pairs} to train on and {len(dev)} to choose on; give more")
    digest = fingerprint([*corpora, dev])
    with locked(work):
        if not resume:
            require_empty(folder)  # another run may have come in between
        torch.manual_seed(config.training.seed)
        if resume:
            start = start_again(work, digest)
        else:
            start = start_afresh(config, corpora) if start_from is None else start_from_model(config, start_from)
            start = start._replace(command=command)
            write_start(work, start, digest)
        loop = prepare(start, corpora, dev, work, reporter)
        if resume:
            loop.restore()
        else:
            loop.log.cut(0)  # of a run that was killed before its first checkpoint
        loop.run()
        return finish(loop, start, folder)


def prepare(start: Start, corpora: Sequence[Sequence[Pair]], dev: list[Pair], folder: Path, reporter: Reporter) -> Loop:
    """The loop over the encoded pairs, on the device that there is."""
    config, model, source, target, *_ = start
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if getattr(config.model, "kernel", "") == "flex" and device.type == "cpu":
        raise ValueError('model.kernel="flex" has no gradients on a CPU; train with "sdpa" or "written-out"')
    weights = [file.weight for file in config.data.train]
    batches = Batches(corpora, weights, source, target, config.data, config.training.seed, n_positions(config.model))
    validator = Validator(dev, source, target, config, device)
    if not validator.pairs:
        raise ValueError("every development pair has more tokens than the model has positions; give shorter ones")
    reporter.say(
        f"{len(batches.texts):,} pairs to train on ({batches.dropped:,} left out as too long), "
        f"{len(validator.pairs):,} to choose on; {sum(p.numel() for p in model.parameters()):,} weights; "
        f"{resolve(config.training.precision, device)} on {device}"
    )
    return Loop(config, model.to(device), batches, validator, folder, reporter)


def finish(loop: Loop, start: Start, folder: Path) -> Outcome:
    """Of the last weights, the best, and the mean of the last few, keep what does best on the development pairs."""
    save_weights(loop.model, loop.folder / "last.safetensors")
    candidates = {"last": load_file(loop.folder / "last.safetensors"), "average": loop.averaged()}
    if loop.best_step != loop.step and (loop.folder / "best.safetensors").exists():
        candidates["best"] = load_file(loop.folder / "best.safetensors")
    dtype = {"float32": torch.float32, "float16": torch.float16}[start.config.training.save_as]
    results: dict[str, Validation] = {}
    for name, weights in candidates.items():
        load_weights(loop.model, {key: value.to(dtype) for key, value in weights.items()}, name)  # as they will be kept
        results[name] = loop.validator(loop.model)
        loop.note_validation(name, results[name], final=True)
    chosen = max(results, key=lambda name: results[name].chrf)
    load_weights(loop.model, candidates[chosen], chosen)

    config = start.config
    described = FolderConfig(
        kind=config.model.kind,
        source=config.data.source,
        target=config.data.target,
        source_eos=config.data.source_eos,
        max_tokens=config.data.max_tokens,
        model=config.model,
    )
    story = Story(loop.step, loop.tokens, loop.seconds, start.began_as, start.command)
    readme = model_readme(config, chosen, results, story)
    write_model(folder, described, loop.model, start.source, start.target, readme, dtype)
    return Outcome(chosen, results[chosen], loop.step)
