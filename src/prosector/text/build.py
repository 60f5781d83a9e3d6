"""Tokenizers from a config and sentences, and from a model's folder."""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from prosector.config.text import TokenizerConfig
from prosector.text.characters import CharacterTokenizer, train_characters
from prosector.text.imported import ImportedTokenizer
from prosector.text.marian import TABLE, load_pair
from prosector.text.pieces import PieceTokenizer, train_pieces
from prosector.text.tokenizer import Language, Role, Tokenizer
from prosector.text.vocabulary import VocabularyTokenizer
from prosector.text.words import WordTokenizer, train_words

_LISTS: dict[str, type[VocabularyTokenizer]] = {"words": WordTokenizer, "characters": CharacterTokenizer}


def train_tokenizers(
    config: TokenizerConfig,
    sources: Sequence[str],
    targets: Sequence[str],
    source_language: Language | None = None,
    target_language: Language | None = None,
) -> tuple[Tokenizer, Tokenizer]:
    """The source's tokenizer and the target's; one and the same object where the config says `joint`.

    Raises:
        ValueError: there is no text, or the vocabulary is too small for it.
    """
    if config.joint:
        shared = source_language if source_language == target_language else None
        tokenizer = _train(config, chain(sources, targets), shared, "joint")
        return tokenizer, tokenizer
    return (
        _train(config, sources, source_language, "source"),
        _train(config, targets, target_language, "target"),
    )


def _train(config: TokenizerConfig, sentences: Iterable[str], language: Language | None, role: Role) -> Tokenizer:
    try:
        match config.kind:
            case "unigram" | "bpe":
                return train_pieces(
                    sentences,
                    vocab_size=config.vocab_size,
                    kind=config.kind,
                    language=language,
                    coverage=config.coverage,
                )
            case "words":
                return train_words(
                    sentences,
                    vocab_size=config.vocab_size,
                    min_count=config.min_count,
                    own_words=config.own_words,
                )
            case "characters":
                return train_characters(sentences, vocab_size=config.vocab_size, min_count=config.min_count)
    except ValueError as error:
        raise ValueError(f"{role} tokenizer: {error}") from error


def save_tokenizers(folder: str | Path, *tokenizers: Tokenizer) -> list[Path]:
    """Write them into a model's folder: the source's and the target's, or the one of both, or the only one; or none."""
    match list({id(tokenizer): tokenizer for tokenizer in tokenizers}.values()):
        case []:
            return []
        case [only]:
            return [only.save(folder, "joint")]
        case [source, target]:
            return [source.save(folder, "source"), target.save(folder, "target")]
        case several:
            raise ValueError(f"a model has two tokenizers at most, not {len(several)}")


def load_tokenizers(folder: str | Path) -> tuple[Tokenizer, Tokenizer]:
    """The source's and the target's tokenizer of a model's folder; the same object where it holds a joint one.

    Raises:
        ValueError: a file is missing, damaged, or one too many.
    """
    folder = Path(folder)
    if (path := folder / ImportedTokenizer.suffix).is_file():
        imported = ImportedTokenizer.load(path)
        return imported, imported
    if (folder / TABLE).is_file():
        return load_pair(folder)
    joint, source, target = (_find(folder, role) for role in ("joint", "source", "target"))
    match joint, source, target:
        case Path(), None, None:
            tokenizer = _load(joint)
            return tokenizer, tokenizer
        case None, Path(), Path():
            return _load(source), _load(target)
        case None, None, None:
            fault = "it holds no tokenizer"
        case None, _, _:
            fault = "it holds a tokenizer for one side only"
        case _:
            fault = "it holds a joint tokenizer and another one"
    raise ValueError(
        f"{folder}: {fault}; a model has joint.spm, or source.spm and target.spm, or the same as .vocab.json"
    )


def _find(folder: Path, role: str) -> Path | None:
    paths = [path for suffix in (".spm", ".vocab.json") if (path := folder / f"{role}{suffix}").is_file()]
    if len(paths) > 1:
        raise ValueError(f"{folder} holds {paths[0].name} and {paths[1].name}: remove the one that is not the model's")
    return paths[0] if paths else None


def _load(path: Path) -> Tokenizer:
    if path.suffix == ".spm":
        return PieceTokenizer.load(path)
    try:
        tokenizer = _LISTS[json.loads(path.read_bytes())["kind"]]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no vocabulary: its `kind` must be words or characters") from error
    return tokenizer.load(path)
