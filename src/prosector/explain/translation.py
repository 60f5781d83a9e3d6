"""A translator's run on a sentence: searched for, recorded, and as one document for the page.

text → ids → search (a beam, greedy, or draws) → the whole target once more, in one piece, every value recorded
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from prosector.config.special import first_id
from prosector.decoding import Hypothesis, RepetitionGuard, Translator, greedy, sample
from prosector.decoding.beam import beam_search
from prosector.decoding.rules import Rule
from prosector.decoding.sampling import generator_of
from prosector.explain.arrays import Precision, packed
from prosector.explain.change import Unmasked
from prosector.explain.changeable import check_prefix
from prosector.explain.machine import machine
from prosector.explain.options import RunOptions
from prosector.explain.tokens import token, tokens
from prosector.explain.tree import Tree, recorder
from prosector.explain.values import recorded, roles
from prosector.explain.writing import candidates, lens, looks_of, shares
from prosector.observe import Seen, observe

TRANSFORMER = "transformer"


@dataclass(frozen=True)
class Translation:
    """What came out of a run: the target's ids, and everything that was seen."""

    translator: Translator
    options: RunOptions
    source_ids: list[int]
    found: Hypothesis
    tree: Tree | None
    model: torch.nn.Module
    seen: Seen
    logits: Tensor  # [Lt, V]

    @property
    def read_ids(self) -> list[int]:
        """What the decoder reads."""
        return [first_id(self.translator.special), *self.found.ids]

    @property
    def written_ids(self) -> list[int]:
        """What it writes: the same, one further."""
        return [*self.found.ids, *(self.translator.special.ends[:1] if self.found.finished else ())]

    @cached_property
    def sequences(self) -> dict[str, list[dict[str, Any]]]:
        """The tokens that are read, on both sides."""
        special = self.translator.special
        return {
            "source": tokens(self.translator.source, self.source_ids, special),
            "target": tokens(self.translator.target, self.read_ids, special),
        }

    def token(self, id: int) -> dict[str, Any]:
        """A token of the target's vocabulary."""
        return token(self.translator.target, id, self.translator.special)

    def outcome(self, precision: Precision = "f4", keep: Sequence[str] = ("*",)) -> dict[str, Any]:
        """What came out, and the values on the way: enough to compare two runs.

        Args:
            precision: of the recorded values.
            keep: patterns of those that are in it.
        """
        return {
            "options": self.options.model_dump(),
            "sequences": self.sequences,
            "output": self.translator.target.decode(self.found.ids).strip(),
            "written": [self.token(id) for id in self.written_ids],
            "score": self.found.score,
            "steps": candidates(self.logits, self.written_ids, self.token, self.options.temperature or 1.0),
            "values": recorded(self.seen, precision, keep),
        }

    def document(self, precision: Precision = "f4", keep: Sequence[str] = ("*",)) -> dict[str, Any]:
        """All that the page shows of this run; arguments as for `outcome`."""
        kind = self.translator.config.kind
        is_transformer = kind == TRANSFORMER
        return self.outcome(precision, keep) | {
            "kind": kind,
            "task": "translate",
            "text": self.options.text,
            "config": self.translator.config.model.model_dump(mode="json"),
            "languages": [self.translator.config.source, self.translator.config.target],
            "machine": machine(self.model, {"encoder": "source", "decoder": "target"}),
            "roles": roles(self.seen),
            "lens": lens(self.model, self.seen, self.token) if is_transformer else None,
            "shares": shares(self.model, self.seen, self.written_ids) if is_transformer else None,
            "tree": None if self.tree is None else self.tree_document(precision),
            "greedy": None if self.tree is None else self.greedy(),
        }

    def greedy(self) -> str:
        """What greedy decoding writes, for comparison."""
        if self.options.beam == 1 and self.options == RunOptions(text=self.options.text, beam=1):
            return self.translator.target.decode(self.found.ids).strip()
        return greedily(self.translator, self.options)

    def tree_document(self, precision: Precision) -> dict[str, Any]:
        """The beam's tree, and for each node that went on where the model looked for what comes next."""
        tree = self.tree or Tree()
        looks, places = looks_of(self, tree)
        written = [(number, node) for number, node in enumerate(tree.nodes) if node.state in ("finished", "cut")]
        return {
            "nodes": [
                [node.parent, node.token, round(node.log_p, 5), round(node.total, 5), node.state, node.score]
                for node in tree.nodes
            ],
            "tokens": {node.token: self.token(node.token) for node in tree.nodes[1:]},
            "best": tree.places.get(tuple(self.written_ids), 0),
            "texts": {number: self.translator.target.decode(tree.path(number)).strip() for number, _ in written},
            "looks": packed(looks, precision),
            "looksOf": places,
        }


def beginning_with(prefix: Sequence[int], rule: Rule, n_words: int) -> Rule:
    """A rule that lets nothing but the prefix be written, and then what another rule allows."""
    words = set(range(n_words))

    def held_to_it(source: int, written: Sequence[int]) -> Collection[int]:
        return words - {prefix[len(written)]} if len(written) < len(prefix) else rule(source, written)

    return held_to_it if prefix else rule


@torch.inference_mode()
def translate(translator: Translator, options: RunOptions) -> Translation:
    """Translate one sentence, and record the run.

    Raises:
        ValueError: there is no text, or too much of it, or its beginning cannot be written.
    """
    source_ids = ids_of(translator, options.text)
    check_prefix(options.prefix, translator.target.vocab_size, translator.special)
    src = torch.tensor([source_ids])
    model: Any = options.change.applied(translator.model)
    reader: Any = Unmasked(model) if options.mask_off else model
    longest = 2 * len(source_ids) + 10 + len(options.prefix)
    guard = RepetitionGuard([options.text], translator.wordiness)
    rule = beginning_with(options.prefix, guard, model.output.out_features)
    tree = Tree() if options.temperature is None else None
    with options.change.observed(model, keep=()):
        if tree is None:
            generators = [generator_of(options.seed, options.text)]
            [found] = sample(
                reader, src, longest, generators, temperature=options.temperature or 1.0, alpha=options.alpha, rule=rule
            )
        else:
            [[found, *_]] = beam_search(
                reader, src, longest, beam=options.beam, alpha=options.alpha, rule=rule, kind=recorder(tree)
            )
    tgt = torch.tensor([[first_id(translator.special), *found.ids]])
    with options.change.observed(model, keep=("*",)) as seen:
        memory = model.encode(src)
        extra = {"mask": options.change.mask} if options.mask_off else {}
        logits = model.logits(model.decode(tgt, memory, model.real(src), **extra))[0]
    logits = logits.clone().float()
    logits[:, translator.special.unwritten] = -torch.inf
    return Translation(translator, options, source_ids, found, tree, model, seen, logits)


def ids_of(translator: Translator, text: str) -> list[int]:
    """What the model reads of a text.

    Raises:
        ValueError: it is blank, or longer than what the model was trained on.
    """
    if not text.strip():
        raise ValueError("the text is blank: give a sentence")
    ids = translator.ids(" ".join(text.split()))
    if not translator.fits(text):
        raise ValueError(
            f"the text has {len(ids)} tokens, and the model reads {translator.config.max_tokens} at once; shorten it"
        )
    return ids


def greedily(translator: Translator, options: RunOptions) -> str:
    """What greedy decoding writes, for comparison."""
    source_ids = ids_of(translator, options.text)
    guard = RepetitionGuard([options.text], translator.wordiness)
    with observe(translator.model, keep=()):
        [found] = greedy(translator.model, torch.tensor([source_ids]), 2 * len(source_ids) + 10, rule=guard)
    return translator.target.decode(found.ids).strip()
