"""A question put to the reference and to ours by the same lines of code; the answers are found by running them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

import prosector.nn
from prosector.interop.conformance.report import Finding, Text

REFUSED = Text("an error", "报错")
SAME, OTHERS = Text("the same", "相同"), Text("not the same", "不相同")
NAN, OTHER_NUMBERS = Text("NaN", "NaN"), Text("other numbers", "其他数值")

MODES = {
    "training": Text("training", "训练"),
    "evaluation": Text("evaluation", "评估"),
    "no gradients": Text("evaluation without gradients", "评估，无梯度"),
}


@dataclass(frozen=True)
class Question:
    """What is asked, how one finds the answer with the modules of a package, and which answers are right."""

    text: Text
    ask: Callable[[ModuleType], Text]
    right: Sequence[Text]


def answers(question: Question) -> Finding:
    """What torch.nn answers, and what `prosector.nn`."""
    theirs, ours = answer(question, torch.nn), answer(question, prosector.nn)
    return Finding(question.text, theirs, theirs in question.right, ours, ours in question.right)


def answer(question: Question, package: ModuleType) -> Text:
    """What comes of it; an error is an answer too. Chance begins alike, and is left as it was."""
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(0)
        try:
            return question.ask(package)
        except (RuntimeError, ValueError):
            return REFUSED


# --- what questions are made of --------------------------------------------------------------------------------------


def asked(en: str, zh: str, ask: Callable[..., Text], *right: Text, **arguments: Any) -> Question:
    """A question in both languages, and the answers that are right."""
    return Question(Text(en, zh), partial(ask, **arguments), right)


def in_modes(
    en: str, zh: str, ask: Callable[..., Text], *right: Text, modes: Sequence[str], **more: Any
) -> list[Question]:
    """The same question in several modes."""
    names = {mode: MODES[mode] for mode in modes}
    return [asked(f"{en}, {m.en}", f"{zh}，{m.zh}", ask, *right, mode=mode, **more) for mode, m in names.items()]


def run_in(mode: str, module: Any, *inputs: Tensor, **options: Any) -> Any:
    """Call a module in one of the modes."""
    module.train(mode == "training")
    with torch.set_grad_enabled(mode != "no gradients"):
        return module(*inputs, **options)


def layer(nn: ModuleType, **options: Any) -> Any:
    """A small encoder layer."""
    return nn.TransformerEncoderLayer(8, 2, 12, **{"dropout": 0.0, "batch_first": True, **options})
