"""Where the nodes of a beam's tree stand in a figure: a column a step, the chosen path in the first row.

Every other branch takes the first free row below its parent's, those that fork late first, so that they stay near.
What was weighed and never got into the beam is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ROOM_FOR_SCORE = 1  # columns, after what has finished


@dataclass(frozen=True)
class Placed:
    """A node: its column and row, and what the tree says of it."""

    depth: int
    row: int
    token: int
    state: str
    score: float | None
    parent: Placed | None
    on_best: bool


def place(tree: dict[str, Any]) -> list[Placed]:
    """The nodes of a tree's document, each after its parent."""
    nodes = tree["nodes"]  # [parent, token, log p, Σ log p, state, score]
    best = {number := tree["best"]}
    while number > 0:
        best.add(number := nodes[number][0])
    children: list[list[int]] = [[] for _ in nodes]
    for number, (parent, _, _, _, state, _) in enumerate(nodes):
        if number and state != "passed":
            children[parent].append(number)
    for some in children:
        some.sort(key=lambda child: (child not in best, -nodes[child][3]))

    taken: dict[int, int] = {}  # of each row, the first column that is taken; branches fork from right to left
    placed: list[Placed] = []

    def put_chain(first: int, parent: Placed | None, depth: int) -> None:
        chain = [first]
        while children[chain[-1]]:
            chain.append(children[chain[-1]][0])
        end = depth + len(chain) - 1 + (ROOM_FOR_SCORE if nodes[chain[-1]][5] is not None else 0)
        row = 0 if parent is None else parent.row + 1
        while row in taken and end >= taken[row]:
            row += 1
        taken[row] = depth
        before, put = parent, []
        for step, number in enumerate(chain):
            _, token, _, _, state, score = nodes[number]
            before = Placed(depth + step, row, token, state, score, before, number in best)
            put.append((number, before))
        placed.extend(node for _, node in put)
        for number, node in reversed(put):
            for child in children[number][1:]:
                put_chain(child, node, node.depth + 1)

    put_chain(0, None, 0)
    return placed
