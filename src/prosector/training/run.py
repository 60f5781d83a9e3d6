"""A run from beginning to end: data, tokenizers, model, loop, and the folder that comes out.

    OUT/            the model: config.json, model.safetensors, tokenizers, README.md
    OUT/training/   the run's config, its checkpoints and log; may be deleted once the run is done
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file

from prosector.config.run import RunConfig
from prosector.data.batching import Batches, share
from prosector.data.corpus import Pair, read_split
from prosector.decoding.folder import FolderConfig, read_model, write_model
from prosector.models.weights import load_weights, replace_file, save_weights, weights_of
from prosector.text import Tokenizer, load_tokenizers, save_tokenizers, train_tokenizers
from prosector.training.loop import Loop
from prosector.training.precision import resolve
from prosector.training.readme import model_readme
from prosector.training.report import Reporter
from prosector.training.validate import Validation, Validator


@dataclass(frozen=True)
class Outcome:
    """What came out of a run: the chosen weights, and how they do on the development pairs."""

    chosen: str
    validation: Validation
    step: int


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
    files = zip(corpora, config.data.train, strict=True)
    pairs = [
        corpus[i] for corpus, file in files for i in share(range(len(corpus)), file.weight, 0, config.training.seed)
    ]
    return train_tokenizers(
        config.tokenizer,
        [pair.source for pair in pairs],
        [pair.target for pair in pairs],
        config.data.source,
        config.data.target,
    )


def device_of_choice() -> torch.device:
    """A GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def with_vocabularies(config: RunConfig, source: Tokenizer, target: Tokenizer) -> RunConfig:
    """The config with the vocabularies' real sizes."""
    sizes = {"source_vocab": source.vocab_size, "target_vocab": target.vocab_size}
    return config.model_copy(update={"model": type(config.model)(**(config.model.model_dump() | sizes))})


def train(
    config: RunConfig, folder: Path, reporter: Reporter, *, start_from: Path | None = None, resume: bool = False
) -> Outcome:
    """Run a config into a folder.

    Args:
        start_from: a model whose weights, tokenizers and architecture are taken over.
        resume: go on with the run that the folder holds, with its own config.

    Raises:
        ValueError: there is nothing to resume, the data changed since, or something to be overwritten.
        Interrupted: the run was asked to stop; it can be resumed.
    """
    training_folder = folder / "training"
    state = training_folder / "state.pt"
    if resume and not state.exists():
        raise ValueError(f"{folder} holds no run to resume: there is no {state}; start it without --resume")
    if not resume and (state.exists() or (folder / "config.json").exists()):
        raise ValueError(f"{folder} already holds a model or a run; --resume goes on with it, or choose another --out")
    if resume:
        config = RunConfig.model_validate_json((training_folder / "run.json").read_text(encoding="utf-8"))

    if config.training.threads:
        torch.set_num_threads(config.training.threads)
    device = device_of_choice()
    reporter.say("reading the sentence pairs")
    corpora, dev = read_split(config.data)
    if not corpora or not any(corpora):
        raise ValueError("there is nothing to train on: name files with --data, or in the preset's data.train")
    digest = fingerprint([*corpora, dev])

    torch.manual_seed(config.training.seed)
    training_folder.mkdir(parents=True, exist_ok=True)
    if resume:
        source, target = load_tokenizers(training_folder)
        if (training_folder / "data.sha256").read_text().strip() != digest:
            raise ValueError(f"the data are not those that {folder} was begun with; give it the same files, in the same order")
        model = config.model.build()
    elif start_from is not None:
        start, given, source, target = read_model(start_from)
        if (start.source, start.target) != (config.data.source, config.data.target):
            raise ValueError(
                f"{start_from} translates {start.source} to {start.target}, this run {config.data.source} to "
                f"{config.data.target}; set data.source and data.target, or start from another model"
            )
        taken = start.model.model_dump() | {name: getattr(config.model, name) for name in ("dropout", "attention_dropout")}
        config = config.model_copy(update={"model": type(start.model)(**taken)})
        model = config.model.build()
        load_weights(model, weights_of(given), str(start_from))
    else:
        reporter.say("learning the vocabularies")
        source, target = learn_tokenizers(config, corpora)
        config = with_vocabularies(config, source, target)
        model = config.model.build()
    if not resume:
        save_tokenizers(training_folder, source, target)
        write = lambda path: path.write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")  # noqa: E731
        replace_file(training_folder / "run.json", write)
        replace_file(training_folder / "data.sha256", lambda path: path.write_text(digest + "\n"))

    batches = Batches(corpora, [file.weight for file in config.data.train], source, target, config.data, config.training.seed)
    validator = Validator(dev, source, target, config, device)
    loop = Loop(config, model.to(device), batches, validator, training_folder, reporter)
    reporter.say(
        f"{len(batches.texts):,} pairs to train on ({batches.dropped:,} left out as too long), {len(dev):,} to choose on; "
        f"{sum(p.numel() for p in model.parameters()):,} weights; {resolve(config.training.precision, device)} on {device}"
    )
    if resume:
        loop.restore()
    loop.run()
    return finish(loop, config, folder, source, target)


def finish(loop: Loop, config: RunConfig, folder: Path, source: Tokenizer, target: Tokenizer) -> Outcome:
    """Of the last weights, the best, and the mean of the last few, keep what does best on the development pairs."""
    save_weights(loop.model, loop.folder / "last.safetensors")
    candidates = {"last": load_file(loop.folder / "last.safetensors"), "average": loop.averaged()}
    if loop.best_step != loop.step and (loop.folder / "best.safetensors").exists():
        candidates["best"] = load_file(loop.folder / "best.safetensors")
    results: dict[str, Validation] = {}
    for name, weights in candidates.items():
        load_weights(loop.model, weights, name)
        results[name] = loop.validator(loop.model)
        loop.note_validation(name, results[name])
    chosen = max(results, key=lambda name: results[name].chrf)
    load_weights(loop.model, candidates[chosen], chosen)
    write_model(
        folder,
        FolderConfig(
            source=config.data.source,
            target=config.data.target,
            source_eos=config.data.source_eos,
            max_tokens=config.data.max_tokens,
            model=config.model,
        ),
        loop.model,
        source,
        target,
        model_readme(config, chosen, results, loop.step, loop.seconds, loop.tokens),
    )
    return Outcome(chosen, results[chosen], loop.step)
