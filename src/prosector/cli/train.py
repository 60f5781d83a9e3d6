"""`prosector train`: a recipe, sentence pairs, and the model that comes out."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prosector.cli import options
from prosector.cli.console import program, quoted
from prosector.cli.corpora import recipe_with
from prosector.cli.mistakes import StoppedError
from prosector.cli.options import Columns, Parts

if TYPE_CHECKING:
    from prosector.config.run import AnyRun
    from prosector.training.run import Outcome

HELP = """Train a model, or train one further with --from.

RECIPE is a preset's name (--list shows them) or a TOML file. A preset says all: the model, its tokenizers,
its data, how it is trained; --set changes a key of it, and --keys shows every key that there is, with its meaning.

DATA is a table, English and Chinese with a tab between and whatever else after them, such as cmn.txt of
manythings.org as it is (other columns: --columns zh,en); or two files side by side, SOURCE,TARGET, told apart
by .zh and .en where they end so. .gz and .xz are unpacked. Without --dev, up to 1,000 of the pairs are kept out
of training, to choose on. That is for models of sentence pairs; for gpt DATA is a text, or a table's column as
FILE:2; for label LABEL=FILE, once a label; for pictures a set's name (mnist-5k, nuclei, …) or a folder.

Ctrl-C saves. --resume goes on and ends with the same model as a run that was never stopped.

\b
Examples:
  prosector train demo --data cmn.txt --out runs/mine
  prosector train demo --data talk.zh,talk.en --set training.steps=3000 --set model.position=rope
  prosector train --resume --out runs/mine
  prosector train fine-tune --from zh-en --data mine.tsv --out runs/fine
  prosector train recipe.toml --part my_position.py
  prosector train demo --keys
"""

Recipe = Annotated[str | None, typer.Argument(metavar="RECIPE", help="A preset's name, or a TOML file.")]
Data = Annotated[list[str] | None, typer.Option("--data", metavar="FILE", help="Pairs to train on, not the recipe's.")]
Dev = Annotated[list[str] | None, typer.Option("--dev", metavar="FILE", help="Pairs to choose on.")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="Where the model goes; runs/RECIPE if not given.")]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the recipe.")]
From = Annotated[str | None, typer.Option("--from", metavar="MODEL", help="Fine-tune this model: a name or a folder.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]
Keys = Annotated[bool, typer.Option("--keys", help="Print the recipe with every key, explained; train nothing.")]
List = Annotated[bool, typer.Option("--list", help="List the presets.")]


def train(
    recipe: Recipe = None,
    data: Data = None,
    dev: Dev = None,
    columns: Columns = "en,zh",
    out: Out = None,
    settings: Set = None,
    start_from: From = None,
    resume: Resume = False,
    parts: Parts = None,
    list_presets: List = False,
    keys: Keys = False,
) -> None:
    from prosector.cli.display import reporter

    if list_presets:
        print("\n".join(f"{path.stem:<18}{described(path)}" for path in presets()))
        return
    if keys:
        print_keys(recipe, settings or (), parts)
        return
    if recipe is None and not resume:
        raise ValueError("name a recipe: a preset (prosector train --list) or a TOML file")
    if out is None:
        if recipe is None:
            raise ValueError("--resume needs to know which run: --out DIR")
        out = Path("runs", Path(recipe).stem)

    from prosector.config.run import RunConfig
    from prosector.decoding.installed import find_model
    from prosector.training import run
    from prosector.training.loop import InterruptedRunError
    from prosector.training.memory import keep_freed_memory

    options.load(parts)
    if recipe == "fine-tune" and start_from is None:
        raise ValueError("the recipe fine-tune trains a model further: name it, --from zh-en, or a folder")
    start = None if start_from is None else find_model(start_from)
    config = None
    if recipe is not None:
        path = find_recipe(recipe)
        config = recipe_with(path, data or (), dev or (), columns, settings or (), start)
        if start is not None:
            check_fitting(settings or ())
        if resume:
            check_same(out, config, from_model=start is not None)
    elif data or dev or settings or start:
        raise ValueError("--resume goes on with the run's own recipe; leave out --data, --dev, --set and --from")

    command = called(
        ["train", recipe or ""],
        {"--data": data, "--dev": dev, "--set": settings, "--from": start_from and [start_from], "--part": parts},
    )
    keep_freed_memory()
    try:
        with reporter() as told:
            outcome = run.train(
                config or RunConfig(), out, told, start_from=None if resume else start, resume=resume, command=command
            )
    except (InterruptedRunError, KeyboardInterrupt) as stop:
        if not (out / "training" / "state.pt").exists():
            raise StoppedError("stopped before there was anything to save") from stop
        again = [program(), "train --resume --out", quoted(out), *(f"--part {quoted(part)}" for part in parts or ())]
        raise StoppedError(f"stopped and saved; to go on: {' '.join(again)}") from stop
    tell(outcome, out, parts or ())


def called(words: Sequence[str], options: Mapping[str, Sequence[object] | None]) -> str:
    """The command as one would type it again, anywhere: of files only the names."""

    def name(value: object) -> str:
        return Path(str(value)).name if Path(str(value)).exists() else str(value)

    given = [(option, name(value)) for option, values in options.items() for value in values or ()]
    return shlex.join(["prosector", *filter(None, words), *(word for pair in given for word in pair)])


def presets() -> list[Path]:
    """The recipes that come with Prosector."""
    from prosector.data.corpus import PRESETS

    return sorted(PRESETS.glob("*.toml"))


def described(path: Path) -> str:
    """What a recipe says it is for."""
    return str(tomllib.loads(path.read_text(encoding="utf-8")).get("description", ""))


def print_keys(recipe: str | None, settings: Sequence[str], parts: list[Path] | None) -> None:
    """A recipe, or else what holds without one, with every key that there is."""
    from prosector.cli.keys import written_out
    from prosector.config.run import run_from

    options.load(parts)
    tree = {} if recipe is None else tomllib.loads(find_recipe(recipe).read_text("utf-8-sig"))
    print("\n".join(written_out(run_from(tree, settings, recipe or "--set"))))


def find_recipe(name: str) -> Path:
    """A preset by its name, or a file.

    Raises:
        FileNotFoundError: it is neither.
    """
    known = {path.stem: path for path in presets()}
    if name in known:
        return known[name]
    path = Path(name)
    if path.is_file():
        return path
    if path.suffix == ".toml":
        raise FileNotFoundError(f"there is no recipe {name}")
    raise FileNotFoundError(f"there is no preset {name!r}: choose {', '.join(known)}, or give a TOML file")


def check_fitting(settings: Sequence[str]) -> None:
    """What a model that is fine-tuned brings along cannot be set.

    Raises:
        ValueError: it is; the keys are named.
    """
    keys = [setting.partition("=")[0].strip() for setting in settings]
    free = {"model.dropout", "model.attention_dropout"}
    fixed = [key for key in keys if key.split(".")[0] in {"model", "tokenizer"} and key not in free]
    if fixed:
        raise ValueError(f"{', '.join(fixed)}: --from brings the model and its tokenizers; only its dropout can be set")


def check_same(out: Path, config: AnyRun, from_model: bool) -> None:
    """A run is not resumed with another recipe than it was begun with.

    Raises:
        ValueError: it is, and the keys are named; or there is no run.
    """
    from prosector.training.place import config_of

    begun, now = flat(config_of(out).model_dump()), flat(config.model_dump())
    learned = {"model.source_vocab", "model.target_vocab", "description"}  # from the data, and of no effect
    other = [key for key in begun | now if begun.get(key) != now.get(key) and key not in learned]
    if from_model:  # which brought its own
        other = [key for key in other if not key.startswith(("model.", "tokenizer."))]
    if other:
        raise ValueError(
            f"{out} was begun with another {', another '.join(other)}; leave the recipe out to go on with it"
        )


def flat(tree: dict[str, Any], place: str = "") -> dict[str, object]:
    """The values of nested tables by their keys, such as training.steps."""
    values: dict[str, object] = {}
    for key, value in tree.items():
        values |= flat(value, f"{place}{key}.") if isinstance(value, dict) else {place + key: value}
    return values


def tell(outcome: Outcome, out: Path, parts: Sequence[Path]) -> None:
    """Where the model is, how good, and what to do with it."""
    from prosector.config.folder import TranslatorFolder
    from prosector.decoding.folder_config import read_config

    config = read_config(out)
    verbs = {"gpt": "generate {}", "bert": "fill {} '我[MASK]深度学习'"}
    verbs |= dict.fromkeys(("vit", "conv-transformer"), "predict {} FILE")
    verbs |= dict.fromkeys(("unet", "attention-unet"), "predict {} FILE --output MASK.png")
    use = verbs.get(config.kind, "")
    if isinstance(config, TranslatorFolder):
        use = {"zh": "translate {} 我喜欢深度学习。", "en": "translate {} 'How are you?'"}[config.source]
    figures = ", ".join(f"{name} {value:.4g}" for name, value in outcome.validation.scores.items())
    options = "".join(f" --part {quoted(part)}" for part in parts)
    print(
        f"The model is in {out} (of its weights, the {outcome.chosen}): "
        f"{figures} on the development data.\n"
        f"Use it: {program()} {use.format(f'--model {quoted(out)}{options}')}"
    )
