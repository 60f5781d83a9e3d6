"""JoeyNMT at work, in a Python that has it and nothing of ours: the other end of `joeynmt.py`.

It is given a file with weights, ids and how it shall be set. Then it reads one word a line, does what the word says,
answers with a line of JSON, and sleeps until the next. Model, loss and search are JoeyNMT's own.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib.metadata import version
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Works = dict[str, Callable[[], Any]]
PRECISIONS = ("float32", "bf16")


class Words:
    """What JoeyNMT asks of a vocabulary; its own takes minutes to number made-up words."""

    lang_tags: tuple[str, ...] = ()
    specials = ("<unk>", "<pad>", "<sos>", "<eos>")
    sep_index = None

    def __init__(self, size: int, ids: dict[str, int]) -> None:
        self.size, self.ids = size, ids
        self.unk_index, self.pad_index, self.bos_index, self.eos_index = (ids[word] for word in self.specials)

    def __len__(self) -> int:
        return self.size

    def lookup(self, token: str) -> int:
        """The id of a special token."""
        return self.ids[token]


def built(order: dict[str, Any]) -> Any:
    """JoeyNMT's model with the weights of an order."""
    source = Words(order["source_vocab"], order["ids"])
    target = source if order["shared"] else Words(order["target_vocab"], order["ids"])
    model = importlib.import_module("joeynmt.model").build_model(order["settings"], source, target)
    lacking = model.load_state_dict(order["weights"], strict=False)
    if wrong := [*lacking.unexpected_keys, *(name for name in lacking.missing_keys if not name.endswith(".pe"))]:
        raise ValueError(f"JoeyNMT's model and the weights given differ in {', '.join(wrong)}")
    for part in (model.encoder, model.decoder):
        part.pe.pe = order["positions"][None]
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = order["eps"]
        elif type(module).__name__ == "MultiHeadedAttention":  # the others drop no attention weights
            module.dropout = torch.nn.Identity()
        elif type(module).__name__ == "PositionwiseFeedForward":  # nor hidden values
            module.pwff_layer[2] = torch.nn.Identity()
    return model


def products(precision: str) -> AbstractContextManager[object]:
    """The type of the matrix products."""
    return torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else nullcontext()


def encoded(model: Any, src: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """The encoder's output, and which source tokens are real."""
    real = (src != pad)[:, None]
    return model(return_type="encode", src=src, src_length=real.sum(-1)[:, 0], src_mask=real)[0], real


def training(model: Any, order: dict[str, Any]) -> Works:
    """The untrained loss, and a step, in both types."""
    src, tgt_in, labels, pad = order["src"], order["tgt_in"], order["labels"], order["ids"]["<pad>"]
    optimizer = torch.optim.AdamW(model.parameters(), lr=order["learning_rate"], fused=True)

    def loss(precision: str) -> Tensor:
        with products(precision):
            memory, real = encoded(model, src, pad)
            given = {"encoder_output": memory, "encoder_hidden": None, "src_mask": real, "unroll_steps": None}
            logits = model(return_type="decode", trg_input=tgt_in, trg_mask=(labels != pad)[:, None], **given)[0]
        flat, smoothing = logits.flatten(0, 1).float(), order["smoothing"]
        return F.cross_entropy(flat, labels.flatten(), ignore_index=pad, label_smoothing=smoothing)

    def untrained(precision: str) -> float:
        model.eval()
        found = loss(precision).item()
        model.train()
        return found

    def step(precision: str) -> int:
        loss(precision).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return int((labels != pad).sum())

    return {
        f"{name} {precision}": partial(work, precision)
        for name, work in (("loss", untrained), ("step", step))
        for precision in PRECISIONS
    }


def decoding(model: Any, order: dict[str, Any]) -> Works:
    """Targets as ids, up to their end."""
    search, src, ids = importlib.import_module("joeynmt.search"), order["src"], order["ids"]
    model.eval()

    def translate(precision: str) -> list[list[int]]:
        with torch.no_grad(), products(precision):
            memory, real = encoded(model, src, ids["<pad>"])
            given = {
                "model": model,
                "encoder_output": memory,
                "encoder_hidden": None,
                "src_mask": real,
                "min_output_length": order["shortest"],
                "max_output_length": max(order["longest"]) + 1,
                "autocast": {"device_type": "cpu", "dtype": torch.bfloat16, "enabled": precision == "bf16"},
            }
            if order["beam"] == 1:
                found = search.transformer_greedy(**given)[0]
            else:
                found = search.beam_search(beam_size=order["beam"], alpha=order["alpha"], n_best=1, **given)[0]
        stops = (ids["<eos>"], ids["<pad>"])
        return [until(row, stops, most) for row, most in zip(found.tolist(), order["longest"], strict=True)]

    return {precision: partial(translate, precision) for precision in PRECISIONS}


def until(ids: list[int], stops: tuple[int, ...], most: int) -> list[int]:
    """A target up to its end, at most so long."""
    stop = next((place for place, id in enumerate(ids) if id in stops), len(ids))
    return ids[: min(stop, most)]


def main() -> None:
    """Serve one order until nobody asks any more."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever JoeyNMT prints shall not be taken for an answer
    order = torch.load(sys.argv[1], weights_only=True)
    torch.set_num_threads(order["threads"])
    model = built(order)
    works = training(model, order) if "labels" in order else decoding(model, order)
    print(json.dumps({name: version(name) for name in ("joeynmt", "torch")}), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(works[line.strip()]()), file=answers, flush=True)


if __name__ == "__main__":
    main()
