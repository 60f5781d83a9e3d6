"""All that a model's folder of ours holds, from a folder of theirs: the config of its family, and tokenizers."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from prosector.config.bert import BertConfig
from prosector.config.folder import Folder, PictureFolder, ReaderFolder, TranslatorFolder, WriterFolder
from prosector.config.model import n_positions
from prosector.interop.hugging_face.files import read_json
from prosector.interop.hugging_face.importing import Imported
from prosector.interop.hugging_face.settings import OF_OURS
from prosector.text import Tokenizer
from prosector.text.imported import ImportedTokenizer
from prosector.text.marian import load_pair

LANGUAGES = {"zh": "zh", "zho": "zh", "cmn": "zh", "en": "en", "eng": "en"}


class Whole(NamedTuple):
    """What a folder of ours is made of."""

    config: Folder
    model: nn.Module
    tokenizers: tuple[Tokenizer, ...]


def whole_of(found: Imported) -> Whole:
    """A model of theirs with all that our commands need.

    Raises:
        FileNotFoundError: there is no tokenizer that can be read.
        ValueError: no command of ours uses such a model, or what belongs to it cannot be expressed.
    """
    makers = {"gpt": writer, "bert": reader, "vit": classifier, "transformer": translator}
    if found.architecture.name == "t5":
        raise ValueError(
            f"{found.folder} is a T5, whose tasks stand in its text: no command uses one; "
            "prosector.interop.hugging_face.from_hugging_face(folder) reads it as a model"
        )
    return makers[found.model.config.kind](found)


def optional(path: Path) -> dict[str, Any]:
    """A JSON file, or nothing if it is not there."""
    return read_json(path) if path.is_file() else {}


def tokenizer_in(folder: Path) -> ImportedTokenizer:
    """The tokenizer of a folder.

    Raises:
        FileNotFoundError: it has no tokenizer.json; how to make one is said.
    """
    path = folder / ImportedTokenizer.suffix
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} has no {path.name}: transformers' AutoTokenizer reads older files, and its save_pretrained "
            "writes one"
        )
    return ImportedTokenizer.load(path)


def with_special(found: Imported, **ids: Any) -> Any:
    """The model's config with some of its special ids said otherwise; the model gets it too."""
    config: Any = found.model.config
    config = config.model_copy(update={"special": config.special.model_copy(update=ids)})
    found.model.config = config
    return config


def writer(found: Imported) -> Whole:
    """A GPT. A begin is read only if its tokenizer puts one there by itself."""
    tokenizer = tokenizer_in(found.folder)
    special = found.model.config.special
    first = tokenizer.encode_whole("a")[:1]
    config = with_special(
        found,
        sos=special.sos if first == [special.sos] else None,
        never=tuple(id for id in tokenizer.special_ids() if id not in special.ends),
    )
    named = (found.settings.found.get(name) for name in ("max_position_embeddings", "n_positions", "seq_length"))
    context = next((length for length in named if length), 2048)
    return Whole(
        WriterFolder(unit="text", context=min(context, n_positions(config)), model=config), found.model, (tokenizer,)
    )


def reader(found: Imported) -> Whole:
    """A BERT. Its begin, end and gap are the tokenizer's [CLS], [SEP] and [MASK], whatever they are called there."""
    tokenizer = tokenizer_in(found.folder)
    names = optional(found.folder / "tokenizer_config.json") | optional(found.folder / "special_tokens_map.json")

    def id_of(role: str, usual: str) -> int | None:
        name = names.get(role, usual)
        return tokenizer.id_of(name["content"] if isinstance(name, dict) else name)

    config: BertConfig = with_special(
        found,
        unk=id_of("unk_token", "[UNK]"),
        sos=id_of("cls_token", "[CLS]"),
        eos=id_of("sep_token", "[SEP]"),
        mask=id_of("mask_token", "[MASK]"),
    )
    labels = named_labels(found) if config.labels and not config.fills else ()
    return Whole(ReaderFolder(max_tokens=n_positions(config), labels=labels, model=config), found.model, (tokenizer,))


def named_labels(found: Imported) -> tuple[str, ...]:
    """The names of classes, in the order of their numbers."""
    names = found.settings.found.get("id2label") or {"0": "LABEL_0", "1": "LABEL_1"}
    return tuple(names[number] for number in sorted(names, key=int))


def classifier(found: Imported) -> Whole:
    """A ViT, with the mean and deviation that pictures are brought to.

    Raises:
        ValueError: these differ from channel to channel.
    """
    config: Any = found.model.config
    settings = optional(found.folder / "preprocessor_config.json")
    values = {}
    for name in ("image_mean", "image_std"):
        several = set(settings.get(name) or [0.5])
        if len(several) > 1:
            raise ValueError(f"preprocessor_config.json: {name} differs from channel to channel; only one is possible")
        values[name] = several.pop()
    ours = found.settings.found.get(OF_OURS) or {}
    folder = PictureFolder(
        kind="vit",
        classes=named_labels(found),
        size=config.picture,
        source=ours.get("source", found.folder.name),
        test=ours.get("test", 0),
        mean=values["image_mean"],
        deviation=values["image_std"],
        model=config,
    )
    return Whole(folder, found.model, ())


def translator(found: Imported) -> Whole:
    """A Marian; its languages are said by the tokenizer's config, or by a name like opus-mt-zh-en.

    Raises:
        ValueError: they are not among ours.
    """
    said = optional(found.folder / "tokenizer_config.json")
    by_name = found.folder.name.split("-")[-2:]
    given = [said.get("source_lang") or by_name[0], said.get("target_lang") or by_name[-1]]
    if unknown := [language for language in given if language not in LANGUAGES]:
        raise ValueError(f"{found.folder} translates {' to '.join(given)}: {unknown[0]} is none of ours, zh and en")
    folder = TranslatorFolder(
        source=LANGUAGES[given[0]],  # type: ignore[arg-type]
        target=LANGUAGES[given[1]],  # type: ignore[arg-type]
        max_tokens=found.settings.found.get("max_position_embeddings") or 512,
        model=found.model.config,
    )
    return Whole(folder, found.model, load_pair(found.folder))
