"""How a figure for a paper looks: heat maps of attention, lines of an alignment, candidates, a beam's tree.

Weights go from white to one dark blue, so that they are read in grey print and by readers who are colour-blind; what
else has to be told apart differs in its mark too. Sizes are inches, letters 5 to 8 points, as they will be printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from prosector.explain.tree_layout import Placed, place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from prosector.explain.figure import Attention

STYLE: dict[Any, Any] = {
    "font.size": 7.0,
    "axes.titlesize": 7.0,
    "axes.linewidth": 0.5,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.h_pad": 0.03,
    "text.parse_math": False,  # a $ is a word like any other
}
COLOURS = "Blues"
DARK, GREY = "#08306b", "#8a8a8a"
LARGEST, UPRIGHT, SMALLEST = 8.0, 5.5, 5.0  # points of a token: at most, at least if it lies flat, at least
POINTS = 72  # of an inch
NUMBERED = 0.26  # inches of a cell that its number fits into
TALLEST = 4.0  # inches of a panel, unless its cells would be wider than high
PANEL_COLUMNS = 4
WIDEST = 1.0  # inches of a candidate
SHOWN_CANDIDATES = 5


def width_of(text: str, size: float) -> float:
    """About how many inches a text of this size takes."""
    return sum(1.0 if east_asian_width(c) in "WF" else 0.58 for c in text) * size / POINTS


def label_size(cell: float) -> tuple[float, int]:
    """The points of labels that stand `cell` inches apart, and of how many one is shown."""
    size = min(LARGEST, cell * POINTS * 0.9)
    return max(size, SMALLEST), max(1, ceil(SMALLEST / size))


def upright_size(names: Sequence[str], cell: float) -> float | None:
    """The points at which names fit side by side, `cell` inches each; None if they have to be turned."""
    size = min(LARGEST, LARGEST * cell * 0.95 / max(width_of(name, LARGEST) for name in names))
    return size if size >= UPRIGHT else None


def heads(attention: Attention, names: Sequence[str], width: float) -> Figure:
    """A heat map for each head, rows the queries and columns the keys, in one scale of colours.

    In a panel that is wide enough each cell has its number too.
    """
    n_heads, n_queries, n_keys = attention.weights.shape
    columns = min(n_heads, PANEL_COLUMNS)
    rows = ceil(n_heads / columns)
    names_wide = max(width_of(name, LARGEST) for name in attention.queries) + 0.2
    cell = max((width - names_wide - 0.55) / columns - 0.06, 0.2) / n_keys
    size, every = label_size(cell)
    flat = upright_size(attention.keys, cell)
    names_high = 0.3 if flat else max(width_of(name, size) for name in attention.keys) + 0.25
    tall = min(max(cell, 0.12), 0.4, max(cell, TALLEST / n_queries))
    height = rows * (n_queries * tall + 0.24) + names_high

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    top = float(attention.weights.max())
    for number, axis in enumerate(axes.flat):
        if number >= n_heads:
            axis.set_visible(False)
            continue
        mesh = axis.pcolormesh(
            attention.weights[number], cmap=COLOURS, vmin=0, vmax=top, edgecolors="face", linewidth=0.1, gid="weights"
        )
        axis.set_title(names[number], pad=2)
        if cell >= NUMBERED:
            write_numbers(axis, attention.weights[number], top)
    axis = axes[0, 0]
    axis.invert_yaxis()
    name_ticks(axis, attention, (flat, 1) if flat else (size, every), label_size(tall), turned=not flat)
    figure.supylabel("written" if attention.across else "query", fontsize=7)
    figure.supxlabel("read" if attention.across else "key", fontsize=7)
    bar = figure.colorbar(mesh, ax=axes, label="attention weight", fraction=0.05, pad=0.01, aspect=30)
    bar.outline.set_linewidth(0.5)
    return figure


def name_ticks(
    axis: Axes, attention: Attention, across: tuple[float, int], down: tuple[float, int], turned: bool
) -> None:
    """Put the tokens beside the rows and under the columns, which panels share: points, and of how many one."""
    for panel in axis.figure.axes:
        panel.tick_params(axis="x", labelrotation=90 if turned else 0, labelsize=across[0])
        panel.tick_params(axis="y", labelsize=min(across[0], down[0]))
    keys, queries = attention.keys[:: across[1]], attention.queries[:: down[1]]
    axis.set_xticks(np.arange(len(keys)) * across[1] + 0.5, keys)
    axis.set_yticks(np.arange(len(queries)) * down[1] + 0.5, queries)


def write_numbers(axis: Axes, weights: Any, top: float) -> None:
    """Each cell's number, light on dark."""
    for (row, column), weight in np.ndenumerate(weights):
        colour = "white" if weight > 0.55 * top else "black"
        axis.text(column + 0.5, row + 0.5, f"{weight:.2f}", size=5.5, color=colour, ha="center", va="center")


def alignment(weights: Any, written: Sequence[str], read: Sequence[str], width: float) -> Figure:
    """What was read above, what was written below, and a line as thick and dark as the weight between."""
    figure = Figure(figsize=(width, max(0.9, width * 0.36)), layout="constrained")
    axis = figure.subplots()
    above, below = ((np.arange(len(row)) + 0.5) / len(row) for row in (read, written))
    ends: Any = [[(below[row], 0.0), (above[column], 1.0)] for row, column in np.ndindex(weights.shape)]
    each = np.clip(weights.flatten(), 0, 1)
    axis.add_collection(LineCollection(ends, linewidths=3 * each, colors=DARK, alpha=each, gid="alignment"))
    for names, at, height, where in ((read, above, 1.06, "bottom"), (written, below, -0.06, "top")):
        flat = upright_size(names, width / len(names))
        size, _ = label_size(width / len(names))
        for name, x in zip(names, at, strict=True):
            axis.text(x, height, name, size=flat or size, ha="center", va=where, rotation=0 if flat else 90)
    axis.set(xlim=(0, 1), ylim=(-0.1, 1.1))
    axis.set_axis_off()
    return figure


def candidates(steps: Sequence[dict[str, Any]], width: float) -> Figure:
    """For each step the likeliest tokens with their probabilities, the one that was written framed."""
    table = [step["candidates"][:SHOWN_CANDIDATES] for step in steps]
    longest = max(width_of(candidate["token"]["text"], 7) for step in table for candidate in step)
    across = max(1, min(len(steps), int((width - 0.5) / max(0.45, longest + 0.06))))
    bands = ceil(len(steps) / across)
    width = min(width, across * WIDEST + 1.2)
    figure = Figure(figsize=(width, bands * (0.3 * SHOWN_CANDIDATES + 0.4)), layout="constrained")
    axes = figure.subplots(bands, 1, squeeze=False)[:, 0]
    for band, axis in enumerate(axes):
        some = range(band * across, min((band + 1) * across, len(steps)))
        p = np.full((SHOWN_CANDIDATES, across), np.nan)
        for column, step in enumerate(some):
            chosen = steps[step].get("chosen", {"token": {"id": None}})["token"]["id"]
            for row, candidate in enumerate(table[step]):
                p[row, column] = candidate["p"]
                write_candidate(axis, row, column, candidate, is_chosen=candidate["token"]["id"] == chosen)
        mesh = axis.pcolormesh(p, cmap=COLOURS, vmin=0, vmax=1, edgecolors="white", linewidth=1.5, gid="candidates")
        axis.invert_yaxis()
        axis.set_xticks(np.arange(len(some)) + 0.5, [str(step + 1) for step in some])
        axis.set_yticks(np.arange(SHOWN_CANDIDATES) + 0.5, [str(row + 1) for row in range(SHOWN_CANDIDATES)])
        axis.spines[:].set_visible(False)
    axes[-1].set_xlabel("step")
    figure.supylabel("rank", fontsize=7)
    bar = figure.colorbar(mesh, ax=axes, label="probability", fraction=0.03, pad=0.01)
    bar.outline.set_linewidth(0.5)
    return figure


def write_candidate(axis: Axes, row: int, column: int, candidate: dict[str, Any], is_chosen: bool) -> None:
    """A token, its probability below it, and a frame if it was written."""
    colour = "white" if candidate["p"] > 0.55 else "black"
    at: dict[str, Any] = {"ha": "center", "va": "center", "color": colour, "zorder": 3}
    axis.text(column + 0.5, row + 0.36, candidate["token"]["text"], size=7, **at)
    axis.text(column + 0.5, row + 0.76, percent(candidate["p"]), size=5, **at)
    if is_chosen:
        frame = {"fill": False, "edgecolor": DARK, "linewidth": 1.2, "zorder": 4}
        axis.add_patch(rectangle(column + 0.04, row + 0.05, 0.92, 0.9, **frame))


def rectangle(x: float, y: float, width: float, height: float, **style: Any) -> Any:
    """A rectangle by its corner."""
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **style)


def percent(p: float) -> str:
    """A probability as it is read in a small place."""
    return f"{100 * p:.1f}%" if p >= 0.001 else "<0.1%"


# How a node looks by what became of it: marker, its size, its colour.
MARKS = {
    "kept": ("o", 2.2, DARK),
    "finished": ("o", 5.0, DARK),
    "overtaken": ("x", 3.4, GREY),
    "hopeless": ("|", 5.0, GREY),
    "cut": ("s", 4.0, GREY),
}


def beam(tree: dict[str, Any], width: float) -> Figure:
    """The search from left to right: what went on, what was overtaken, what finished with which score."""
    nodes = place(tree)
    tokens = {int(id): token["text"] for id, token in tree["tokens"].items()}
    depth, rows = max(node.depth for node in nodes), max(node.row for node in nodes) + 1
    step = width / (depth + 1.4)
    longest = max([width_of(tokens[node.token], 6) for node in nodes if node.depth], default=0.1)
    size = max(3.5, min(7.0, 6 * (step * 0.9) / max(longest, 0.01)))
    figure = Figure(figsize=(width, max(0.8, 0.19 * rows + 0.35)), layout="constrained")
    axis = figure.subplots()
    for node in nodes:
        draw_node(axis, node, tokens, size)
    for state in dict.fromkeys(node.state for node in nodes):
        marker, points, colour = MARKS[state]
        axis.plot([], [], marker=marker, markersize=points, color=colour, linestyle="none", label=state)
    axis.set(xlim=(-0.15, depth + 1.25), ylim=(rows - 0.4, -0.8))
    axis.set_axis_off()
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(MARKS), frameon=False, handletextpad=0.1)
    return figure


def draw_node(axis: Axes, node: Placed, tokens: dict[int, str], size: float) -> None:
    """A node, its token, and the line from the one before."""
    marker, points, colour = MARKS[node.state]
    if node.parent is not None:
        # Down beside the parent, then along: branches of one node share their stem.
        x = [node.parent.depth, node.parent.depth + 0.12, node.parent.depth + 0.25, node.depth]
        y = [node.parent.row, node.parent.row, node.row, node.row]
        colour_of_line, thick = (DARK, 1.6) if node.on_best else (GREY, 0.6)
        axis.plot(x, y, color=colour_of_line, linewidth=thick, zorder=1 + node.on_best, solid_capstyle="round")
        axis.text(node.depth - 0.06, node.row - 0.1, tokens[node.token], size=size, ha="right", va="bottom")
    axis.plot([node.depth], [node.row], marker=marker, markersize=points, color=colour, zorder=4)
    if node.score is not None:
        axis.text(node.depth + 0.1, node.row, f"{node.score:.2f}", size=max(size - 1, 3.5), va="center", color=DARK)
