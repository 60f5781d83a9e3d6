"""A translator: a model with its tokenizers, run by PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Self

import torch
from torch import nn

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.data.batching import pad
from prosector.decoding.candidate import Candidate
from prosector.decoding.folder import read_model
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.installed import find_model, installed_for, installed_models
from prosector.decoding.rules import Rule
from prosector.decoding.search import search
from prosector.decoding.step import special_of
from prosector.decoding.texts import TextTranslator
from prosector.models.seq2seq import Seq2Seq
from prosector.text import Tokenizer
from prosector.text.special import PAD

__all__ = ["Candidate", "Translator", "find_model", "installed_models", "load", "translator_for"]


class Translator(TextTranslator):
    """A model with its tokenizers.

    >>> translator = load("zh-en")
    >>> translator.translate("我喜欢深度学习。")
    >>> translator.translate(["你好。", "谢谢！"], beam=1)
    >>> translator.hypotheses("人山人海。", beam=8, n_best=8)
    """

    read_folder = staticmethod(read_model)

    def __init__(self, config: TranslatorFolder, model: Seq2Seq, source: Tokenizer, target: Tokenizer) -> None:
        self.config, self.model, self.source, self.target = config, model, source, target
        self.special = special_of(model)
        if isinstance(model, nn.Module):  # other engines' are none (interop/engines)
            model.eval()

    def to(self, device: torch.device | str) -> Self:
        """Move the model to a device."""
        self.model.to(device)
        return self

    def search(
        self,
        sources: Sequence[Sequence[int]],
        longest: Sequence[int],
        texts: Sequence[str],
        rule: Rule,
        decoding: DecodingConfig,
    ) -> list[list[Hypothesis]]:
        """Each source's targets, the best first."""
        src = pad(sources, PAD if self.special.pad is None else self.special.pad)
        if isinstance(self.model, nn.Module):
            src = src.to(next(self.model.parameters()).device)
        return search(self.model, src, longest, texts, rule, decoding)


def load(name_or_folder: str | Path) -> Translator:
    """An installed model by its name, or the model in a folder.

    Raises:
        FileNotFoundError: there is no such model, or one of its files is missing.
        ValueError: a file is damaged, or the files do not fit each other.
    """
    return Translator.load(find_model(name_or_folder))


def translator_for(text: str) -> Translator:
    """The installed translator that reads the text's script: zh-en for Chinese, en-zh otherwise; loaded once.

    Raises:
        FileNotFoundError: it is not installed.
    """
    return _loaded(installed_for(text))


@cache
def _loaded(folder: Path) -> Translator:
    return Translator.load(folder)
