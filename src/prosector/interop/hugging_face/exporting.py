"""From a model of ours to a folder that `transformers` loads: the way back.

What their classes cannot express is an error that names the field. Two things they cannot say are said in other words:
a GPT whose embedding is scaled by √d and serves as its output's table becomes one with two tables, and a translator
whose words have no biases one whose biases are 0.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from prosector.config.bert import BertConfig
from prosector.config.folder import Folder, PictureFolder, ReaderFolder, TranslatorFolder
from prosector.config.gpt import GptConfig
from prosector.config.transformer import TransformerConfig
from prosector.interop.hugging_face.architecture import Architecture
from prosector.interop.hugging_face.bert import BERT, class_of
from prosector.interop.hugging_face.gpt2 import GPT2
from prosector.interop.hugging_face.llama import LLAMA, QWEN2
from prosector.interop.hugging_face.marian import MARIAN
from prosector.interop.hugging_face.rules import written
from prosector.interop.hugging_face.settings import OF_OURS
from prosector.interop.hugging_face.vit import VIT
from prosector.models.weights import weights_of
from prosector.text import Tokenizer
from prosector.text.marian import END, TABLE, TARGET_TABLE, MarianTokenizer
from prosector.text.pieces import PieceTokenizer


def target_of(config: Any) -> Architecture:
    """The architecture that a model of ours is written as.

    Raises:
        ValueError: there is none for its kind.
    """
    if config.kind == "gpt" and config.position.kind in ("rope", "yarn"):
        return QWEN2 if config.qkv_bias else LLAMA
    targets = {"gpt": GPT2, "bert": BERT, "vit": VIT, "transformer": MARIAN}
    if config.kind not in targets:
        raise ValueError(f"a model of the kind {config.kind} has no counterpart in transformers")
    return targets[config.kind]


def to_hugging_face(model: nn.Module) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Their config.json and their weights for a model of ours.

    Raises:
        ValueError: there is no such class of theirs, or it cannot express a field; all such fields are named.
    """
    config: Any = model.config
    target = target_of(config)
    weights = weights_of(model)
    config, weights = in_their_words(config, weights)
    settings = {
        "architectures": [class_of(config) if isinstance(config, BertConfig) else target.classes[0]],
        "model_type": target.name,
        "dtype": "float32",
        **ids_of(config),
        **settings_for(target, config),
    }
    return settings, written(weights, target.rules(config))


def settings_for(target: Architecture, config: Any) -> dict[str, Any]:
    """Their settings, or an error that also says why it is this class that has to express the model."""
    try:
        return target.settings_of(config)
    except ValueError as error:
        if target not in (LLAMA, QWEN2):
            raise
        raise ValueError(f"{error}; no other that is written has position {config.position.kind}") from error


def in_their_words(config: Any, weights: dict[str, Tensor]) -> tuple[Any, dict[str, Tensor]]:
    """The same model without what their classes have no field for, as far as that can be."""
    if isinstance(config, GptConfig) and config.scale_embedding:
        table = weights["embedding.weight"]
        output = table if config.tie else weights["output.weight"]
        config = config.model_copy(update={"scale_embedding": False, "tie": False})
        return config, weights | {"embedding.weight": table * math.sqrt(config.d_model), "output.weight": output}
    if isinstance(config, TransformerConfig) and not config.output_bias:
        config = config.model_copy(update={"output_bias": True})
        return config, weights | {"output.bias": torch.zeros(config.target_vocab)}
    return config, weights


def ids_of(config: Any) -> dict[str, Any]:
    """The ids for padding, begin and end, of a model that has any."""
    special = getattr(config, "special", None)
    if special is None:
        return {}
    ends = special.ends
    return {
        "pad_token_id": special.pad,
        "bos_token_id": special.sos if config.kind == "gpt" else None,
        "eos_token_id": ends[0] if len(ends) == 1 else ends or None,
    }


def export_folder(folder: Folder, model: nn.Module, tokenizers: tuple[Tokenizer, ...], out: Path) -> None:
    """Write a folder that their `from_pretrained` reads.

    A translator's tokenizers become Marian's; one that was imported stays what it was. Others of ours have no
    counterpart there: their file is put beside the weights.

    Raises:
        FileExistsError: there is a model at that place.
        ValueError: as for `to_hugging_face`, or the tokenizers cannot be expressed.
    """
    if (out / "config.json").exists():
        raise FileExistsError(f"{out} holds a model already; choose another --out, or remove it")
    settings, weights = to_hugging_face(model)
    texts = {}
    if isinstance(folder, PictureFolder | ReaderFolder):
        settings |= labels_of(folder)
    if isinstance(folder, PictureFolder):
        texts["preprocessor_config.json"] = preprocessing(folder)
        settings[OF_OURS] = {"source": folder.source, "test": folder.test}
    if isinstance(folder, TranslatorFolder):
        settings["max_position_embeddings"] = max(1024, 2 * folder.max_tokens + 10)
        texts |= marian_files(folder, tokenizers)

    out.mkdir(parents=True, exist_ok=True)
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    for tokenizer, role in zip(dict.fromkeys(tokenizers), ("source", "target"), strict=False):
        tokenizer.save(out, role if isinstance(folder, TranslatorFolder) else "joint")  # type: ignore[arg-type]
    if isinstance(folder, TranslatorFolder) and len(set(tokenizers)) == 1:
        tokenizers[0].save(out, "target")
    for name, document in (texts | {"config.json": settings}).items():
        (out / name).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def labels_of(folder: PictureFolder | ReaderFolder) -> dict[str, Any]:
    """The names of classes."""
    names = folder.classes if isinstance(folder, PictureFolder) else folder.labels
    if not names:
        return {}
    return {  # two classes may have one name: ImageNet has two cranes
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }


def preprocessing(folder: PictureFolder) -> dict[str, Any]:
    """What their image processor does before a picture is classed."""
    channels = folder.model.d_input
    return {
        "image_processor_type": "ViTImageProcessor",
        "do_resize": True,
        "size": {"height": folder.size[0], "width": folder.size[1]},
        "do_rescale": True,
        "do_normalize": True,
        "image_mean": [folder.mean] * channels,
        "image_std": [folder.deviation] * channels,
    }


def marian_files(folder: TranslatorFolder, tokenizers: tuple[Tokenizer, ...]) -> dict[str, Any]:
    """The files beside the two SentencePiece models: which id each piece has, and what the special ones are called.

    Raises:
        ValueError: the tokenizers are none of SentencePiece's, or the source is read without its end.
    """
    if not folder.source_eos:
        raise ValueError("Marian cannot express source_eos=False (it has to be True)")
    source, target = tokenizers
    if not all(isinstance(each, PieceTokenizer | MarianTokenizer) for each in tokenizers):
        raise ValueError("Marian's tokenizers are SentencePiece's; this model's are lists of words or characters")
    names = {"source_lang": folder.source, "target_lang": folder.target, "tokenizer_class": "MarianTokenizer"}
    if isinstance(source, MarianTokenizer) and isinstance(target, MarianTokenizer):
        separate = source.table_name != target.table_name
        return {"tokenizer_config.json": {**names, "separate_vocabs": separate}}
    special: Any = folder.model.special  # type: ignore[union-attr]
    names |= {
        "unk_token": source.piece(special.unk),
        "eos_token": END,
        "pad_token": source.piece(special.pad),
    }
    if source is target:
        return {TABLE: table_of(source, special.eos), "tokenizer_config.json": names}
    both = {TABLE: table_of(source, special.eos), TARGET_TABLE: table_of(target, special.eos)}
    return {**both, "tokenizer_config.json": {**names, "separate_vocabs": True}}


def table_of(tokenizer: Tokenizer, end: int) -> dict[str, int]:
    """The id of each piece; the end has the name that it has in all of their folders."""
    return {END if id == end else tokenizer.piece(id): id for id in range(tokenizer.vocab_size)}
