"""Beam search as a tree: which hypotheses were born, overtaken, finished.

Each step adds the continuations that were weighed. A node is

    passed      it was weighed and did not get into the beam
    kept        it was in the beam, and something of it went on
    overtaken   it was in the beam, and nothing of it is among the next k
    hopeless    it was running when the search ended: it could not win any more
    finished    it ended by itself
    cut         it reached the longest length
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from prosector.decoding.beam import Beam, Continuation


@dataclass
class Node:
    """A token of a hypothesis, in the place where it was written."""

    parent: int
    token: int
    log_p: float
    total: float
    state: str
    score: float | None = None


@dataclass
class Tree:
    """All nodes, each after its parent; the first is the empty beginning."""

    nodes: list[Node] = field(default_factory=lambda: [Node(-1, -1, 0.0, 0.0, "kept")])
    places: dict[tuple[int, ...], int] = field(default_factory=lambda: {(): 0})

    def born(self, ids: tuple[int, ...], token: int, log_p: float) -> None:
        """A continuation is weighed."""
        parent = self.places[ids]
        self.places[*ids, token] = len(self.nodes)
        self.nodes.append(Node(parent, token, log_p, self.nodes[parent].total + log_p, "passed"))

    def at(self, ids: Sequence[int]) -> Node:
        """The node of a hypothesis."""
        return self.nodes[self.places[tuple(ids)]]

    def path(self, number: int) -> list[int]:
        """The tokens of a node's hypothesis."""
        ids: list[int] = []
        while number > 0:
            ids.append(self.nodes[number].token)
            number = self.nodes[number].parent
        return ids[::-1]

    def expanded(self) -> list[int]:
        """The nodes that something was weighed after, in order."""
        return sorted({node.parent for node in self.nodes[1:]})


def recorder(tree: Tree) -> type[Beam]:
    """A beam that searches as `Beam` does and writes down what it did; for one source."""

    class Recorded(Beam):
        begun: Sequence[Sequence[int]] = ()  # those in the beam before they are perhaps given up

        def advance(self, continuations: Sequence[Sequence[Continuation]]) -> list[int]:
            before = [begun.ids for begun in self.running]
            for ids, following in zip(before, continuations, strict=True):
                for token, log_p in following:
                    tree.born(tuple(ids), token, log_p)
            n_finished = len(self.finished)
            parents = super().advance(continuations)
            self.mark(before, self.finished[n_finished:], still=bool(self.running))
            return parents

        def is_decided(self) -> bool:
            self.begun = [begun.ids for begun in self.running]
            return super().is_decided()

        def mark(self, before: Sequence[Sequence[int]], finished: Sequence, still: bool) -> None:  # type: ignore[type-arg]
            """Say of each of the step's nodes what became of it."""
            for ids in self.begun:
                tree.at(ids).state = "kept" if still else "hopeless"
            for found in finished:
                ends = [tree.places.get((*found.ids, end)) for end in self.ends]
                node = tree.nodes[next(end for end in ends if end is not None)]
                node.state, node.score = "finished", found.score
            went_on = {tuple(ids[:-1]) for ids in self.begun} | {tuple(found.ids) for found in finished}
            for ids in before:
                if ids and tuple(ids) not in went_on:
                    is_cut = any(list(ids) == found.ids for found in self.cut)
                    tree.at(ids).state = "cut" if is_cut and not self.finished else "overtaken"

    return Recorded
