"""`prosector shortlist`: the words that may translate each word, learned from sentence pairs, into a model's folder."""

from __future__ import annotations

from typing import Annotated, Any

import typer

HELP = """Learn which words translate which, and leave a translator a shortlist.

With it, prosector translate --shortlist gives a logit only to words that can translate those of the sentence, and to
the commonest: with a beam a sixth faster, and now and then another word. Words are aligned by IBM's Model 1 in the
sentence pairs of --data, those that the model was trained on, or of --recipe, its recipe. The file
shortlist.safetensors goes into the model's folder.

\b
Examples:
  prosector shortlist runs/mine --data pairs.tsv
  prosector shortlist runs/mine --recipe zh-en --each 50
"""

Model = Annotated[str, typer.Argument(metavar="MODEL", help="A translator's folder, or an installed one.")]
Data = Annotated[list[str] | None, typer.Option("--data", metavar="FILE", help="Sentence pairs; may be repeated.")]
Columns = Annotated[str, typer.Option(metavar="NAMES", help="What the columns of a table hold.")]
Recipe = Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The training data of a recipe.")]
Each = Annotated[int, typer.Option(metavar="N", min=1, help="Translations of each word at most.")]
Common = Annotated[int, typer.Option(metavar="N", min=0, help="Words that always count: the N commonest.")]


def shortlist(
    model: Model,
    data: Data = None,
    columns: Columns = "en,zh",
    recipe: Recipe = None,
    each: Each = 100,
    common: Common = 200,
) -> None:
    from prosector.cli.console import say
    from prosector.config.folder import TranslatorFolder
    from prosector.decoding.folder_config import read_as, read_tokenizers
    from prosector.decoding.installed import find_model
    from prosector.decoding.shortlist import shortlist_from, write_shortlist

    folder = find_model(model)
    config = read_as(folder, TranslatorFolder, "translate")
    source, target = read_tokenizers(folder, config)
    pairs = pairs_of(data or [], columns, recipe, config)
    say(f"aligning the words of {len(pairs):,} sentence pairs")
    ids = list(zip(source.encode_batch(a for a, _ in pairs), target.encode_batch(b for _, b in pairs), strict=True))
    special: Any = config.model.special  # type: ignore[union-attr]
    found = shortlist_from(ids, source, target, special, each, common)
    path = write_shortlist(folder, found)
    mean = sum(len(found.of(some)) for some, _ in ids[:1000]) / len(ids[:1000])
    say(f"{path}: {mean:,.0f} of {target.vocab_size:,} words for a sentence; prosector translate --shortlist uses it")


def pairs_of(data: list[str], columns: str, recipe: str | None, config: Any) -> list[tuple[str, str]]:
    """The pairs of files, or those that a recipe trains on.

    Raises:
        ValueError: neither is given, or both, or the recipe is for other languages.
    """
    from prosector.cli.corpora import corpus
    from prosector.cli.train import find_recipe
    from prosector.config.run import RunConfig, read_run
    from prosector.data.corpus import read_pairs, read_split

    if bool(data) == bool(recipe):
        raise ValueError("which pairs shall be aligned? give --data FILE, or --recipe NAME, one of both")
    languages = config.source, config.target
    if recipe is None:
        return [
            (pair.source, pair.target)
            for name in data
            for pair in read_pairs(corpus(name, columns, languages), *languages)
        ]
    run = read_run(find_recipe(recipe), [])
    if not isinstance(run, RunConfig) or (run.data.source, run.data.target) != languages:
        raise ValueError(f"--recipe {recipe} does not train a translator from {languages[0]} to {languages[1]}")
    return [(pair.source, pair.target) for part in read_split(run.data)[0] for pair in part]
