"""Runs of models that know one text: GPT goes on with a beginning, BERT fills the gaps of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from prosector.attention import Mask
from prosector.decoding.reader import MASK, Reader
from prosector.decoding.writer import TextWriter, pick
from prosector.explain.arrays import Precision
from prosector.explain.changeable import check_prefix
from prosector.explain.machine import machine
from prosector.explain.options import RunOptions
from prosector.explain.tokens import token
from prosector.explain.values import recorded, roles
from prosector.explain.writing import candidates, lens, shares
from prosector.observe import Seen

N_WRITTEN = 24  # tokens that a writer adds at most, unless its line ends before


@dataclass(frozen=True)
class TextRun:
    """What came out: the ids that were read, where something was written, and everything that was seen."""

    ability: Any
    task: str
    stack: str
    options: RunOptions
    ids: list[int]
    rows: list[int]  # after which of them, or at which, each token was written
    written: list[int]
    logits: Tensor  # a row for each written token
    output: str
    model: nn.Module
    seen: Seen

    def token(self, id: int) -> dict[str, Any]:
        """A token as people read it."""
        gap = getattr(self.model, "mask_id", None) if self.task == "fill" else None
        if id == gap:
            return {"id": id, "text": "[MASK]", "space": False, "special": True}
        return token(self.ability.tokenizer, id, self.ability.special)

    def outcome(self, precision: Precision = "f4", keep: Sequence[str] = ("*",)) -> dict[str, Any]:
        """What came out, and the values on the way; arguments as for `Translation.outcome`."""
        return {
            "options": self.options.model_dump(),
            "sequences": {"text": [self.token(id) for id in self.ids]},
            "output": self.output,
            "written": [self.token(id) for id in self.written],
            "score": 0.0,
            "steps": candidates(self.logits, self.written, self.token, self.options.temperature or 1.0),
            "values": recorded(self.seen, precision, keep),
        }

    def document(self) -> dict[str, Any]:
        """All that the page shows of this run."""
        is_writing = self.task == "write"
        said = lens(self.model, self.seen, self.token, self.stack) if is_writing else None
        return self.outcome() | {
            "kind": self.ability.config.kind,
            "task": self.task,
            "text": self.options.text,
            "config": self.ability.config.model.model_dump(mode="json"),
            "languages": [],
            "machine": machine(self.model, {self.stack: "text"}),
            "roles": roles(self.seen),
            "lens": None if said is None else [[layer[row] for row in self.rows] for layer in said],
            "shares": shares(self.model, self.seen, self.written, self.stack, self.rows) if is_writing else None,
            "tree": None,
            "greedy": None,
        }


def go_on(writer: TextWriter, options: RunOptions) -> TextRun:
    """Let a writer go on with a beginning, by the likeliest token or, with a temperature, by chance.

    Raises:
        ValueError: the beginning is longer than what the model reads at once, or a word is forced that it cannot write.
    """
    check_prefix(options.prefix, writer.tokenizer.vocab_size, writer.special)
    ids = writer.read(options.text)
    if len(ids) + N_WRITTEN > writer.config.context:
        most = writer.config.context - N_WRITTEN
        raise ValueError(f"the text has {len(ids)} tokens, and {most} leave room to go on; shorten it")
    start = len(ids)
    generator = torch.Generator().manual_seed(options.seed)
    chance = torch.rand(N_WRITTEN, generator=generator, dtype=torch.float64)
    model: Any = options.change.applied(writer.model)
    changed = copy(writer)
    changed.model = model
    steps = ahead(changed, ids) if options.mask_off else changed.scores(ids)
    with options.change.observed(model, keep=()):
        for scores, number in zip(steps, range(N_WRITTEN), strict=False):
            forced = options.prefix[number] if number < len(options.prefix) else None
            ids.append(pick(scores, options.temperature or 0, None, None, chance[number]) if forced is None else forced)
            if ids[-1] in writer.special.ends:
                break
    written, ids = ids[start:], ids[:-1]
    with options.change.observed(model, keep=("*",)) as seen:
        logits = model.logits(model.hidden(torch.tensor([ids]), mask=options.change.mask))[0].clone().float()
    logits[:, writer.special.unwritten] = -torch.inf
    logits[:, writer.tokenizer.vocab_size :] = -torch.inf
    rows = list(range(start - 1, len(ids)))
    output = writer.tokenizer.decode([id for id in written if id not in writer.special.ends])
    return TextRun(writer, "write", "decoder", options, ids, rows, written, logits[rows], output, model, seen)


def ahead(writer: TextWriter, ids: list[int]) -> Iterator[Tensor]:
    """As `TextWriter.scores`, of a model that looks ahead in what is written: all is read anew at each step."""
    while True:
        logits = writer.model.logits(writer.model.hidden(torch.tensor([ids]), mask=Mask.window(None, None))[:, -1])
        logits[:, writer.special.unwritten] = -torch.inf
        logits[:, writer.tokenizer.vocab_size :] = -torch.inf
        yield logits.float().log_softmax(dim=-1)


def fill(reader: Reader, options: RunOptions) -> TextRun:
    """Let a reader say what may stand in the gaps of a text.

    Raises:
        ValueError: there is no text, or too much of it.
    """
    ids = reader.ids(options.text)
    if not options.text.strip() or len(ids) > reader.config.max_tokens:
        raise ValueError(f"the text has {len(ids)} tokens, and the model reads 3 to {reader.config.max_tokens}")
    rows = [row for row, id in enumerate(ids) if id == reader.model.mask_id]
    model: Any = options.change.applied(reader.model)
    with options.change.observed(model, keep=("*",)) as seen:
        logits = model.fill(model.hidden(torch.tensor([ids])))[0, rows].clone().float()
    logits[:, [id for id in reader.no_words if id < logits.shape[1]]] = -torch.inf
    logits[:, reader.tokenizer.vocab_size :] = -torch.inf
    written = logits.argmax(dim=-1).tolist() if rows else []
    output = options.text
    for id in written:
        output = output.replace(MASK, reader.word(id), 1)
    return TextRun(reader, "fill", "encoder", options, ids, rows, written, logits, output, model, seen)
