"""Runs of models that know one text: GPT goes on with a beginning, BERT fills the gaps of a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from prosector.decoding.reader import Reader
from prosector.decoding.writer import TextWriter, pick
from prosector.explain.machine import machine
from prosector.explain.options import RunOptions
from prosector.explain.tokens import token
from prosector.explain.values import recorded, roles
from prosector.explain.writing import candidates, lens, shares
from prosector.observe import Seen, observe

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

    def document(self) -> dict[str, Any]:
        """All that the page shows of this run."""
        is_writing = self.task == "write"
        said = lens(self.model, self.seen, self.token, self.stack) if is_writing else None
        return {
            "kind": self.ability.config.kind,
            "task": self.task,
            "text": self.options.text,
            "options": self.options.model_dump(),
            "config": self.ability.config.model.model_dump(mode="json"),
            "languages": [],
            "sequences": {"text": [self.token(id) for id in self.ids]},
            "machine": machine(self.model, {self.stack: "text"}),
            "output": self.output,
            "written": [self.token(id) for id in self.written],
            "score": 0.0,
            "steps": candidates(self.logits, self.written, self.token, self.options.temperature or 1.0),
            "values": recorded(self.seen, "f4", ("*",)),
            "roles": roles(self.seen),
            "lens": None if said is None else [[layer[row] for row in self.rows] for layer in said],
            "shares": shares(self.model, self.seen, self.written, self.stack, self.rows) if is_writing else None,
            "tree": None,
            "greedy": None,
        }


def go_on(writer: TextWriter, options: RunOptions) -> TextRun:
    """Let a writer go on with a beginning, by the likeliest token or, with a temperature, by chance.

    Raises:
        ValueError: the beginning is longer than what the model reads at once.
    """
    unchanged(options)
    ids = writer.read(options.text)
    if len(ids) + N_WRITTEN > writer.config.context:
        most = writer.config.context - N_WRITTEN
        raise ValueError(f"the text has {len(ids)} tokens, and {most} leave room to go on; shorten it")
    start = len(ids)
    generator = torch.Generator().manual_seed(options.seed)
    chance = torch.rand(N_WRITTEN, generator=generator, dtype=torch.float64)
    for scores, number in zip(writer.scores(ids), range(N_WRITTEN), strict=False):
        forced = options.prefix[number] if number < len(options.prefix) else None
        ids.append(pick(scores, options.temperature or 0, None, None, chance[number]) if forced is None else forced)
        if ids[-1] in writer.special.ends:
            break
    written, ids = ids[start:], ids[:-1]
    with observe(writer.model) as seen:
        logits = writer.model(torch.tensor([ids]))[0].clone().float()
    logits[:, writer.special.unwritten] = -torch.inf
    logits[:, writer.tokenizer.vocab_size :] = -torch.inf
    rows = list(range(start - 1, len(ids)))
    output = writer.tokenizer.decode([id for id in written if id not in writer.special.ends])
    return TextRun(writer, "write", "decoder", options, ids, rows, written, logits[rows], output, writer.model, seen)


def fill(reader: Reader, options: RunOptions) -> TextRun:
    """Let a reader say what may stand in the gaps of a text.

    Raises:
        ValueError: there is no text, or too much of it.
    """
    unchanged(options)
    ids = reader.ids(options.text)
    if not options.text.strip() or len(ids) > reader.config.max_tokens:
        raise ValueError(f"the text has {len(ids)} tokens, and the model reads 3 to {reader.config.max_tokens}")
    rows = [row for row, id in enumerate(ids) if id == reader.model.mask_id]
    with observe(reader.model) as seen:
        hidden = reader.model.hidden(torch.tensor([ids]))
        logits = reader.model.fill(hidden)[0, rows].clone().float()
    logits[:, [id for id in reader.no_words if id < logits.shape[1]]] = -torch.inf
    logits[:, reader.tokenizer.vocab_size :] = -torch.inf
    written = logits.argmax(dim=-1).tolist() if rows else []
    output = reader.filled(options.text) if rows else options.text
    return TextRun(reader, "fill", "encoder", options, ids, rows, written, logits, output, reader.model, seen)


def unchanged(options: RunOptions) -> None:
    """Raises ValueError if something is to be taken away, which is for translators."""
    if options.mask_off or options.positions_off or options.heads_off:
        raise ValueError("only of a translator can parts be taken away here")
