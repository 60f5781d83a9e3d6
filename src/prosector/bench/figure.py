"""The contests as bars: medians, with whiskers from quartile to quartile; ours in colour."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from prosector.bench.report import Bars, is_ours

SUFFIXES = (".png", ".pdf", ".svg")
COLUMNS = 2
COLOURS = {True: "#c2410c", False: "#94a3b8"}  # ours, and the others


def checked(path: Path) -> Path:
    """A path that a figure can be written to.

    Raises:
        ValueError: its ending is none that a figure can have.
        FileNotFoundError: its folder is not there.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"--figure {path}: give a file that ends with {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"--figure {path}: there is no folder {path.parent}")
    return path


def draw(path: Path, contests: Sequence[Bars]) -> None:
    """One panel a contest, its fastest contender on top."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(COLUMNS, len(contests))
    lines = [contests[start : start + columns] for start in range(0, len(contests), columns)]
    heights = [max(len(bars.rates) for bars in line) + 2.5 for line in lines]
    size = (7.2 * columns, 0.24 * sum(heights))
    figure, axes = pyplot.subplots(
        len(lines), columns, figsize=size, squeeze=False, layout="constrained", height_ratios=heights
    )
    for axis in axes.flat[len(contests) :]:
        axis.remove()
    for axis, bars in zip(axes.flat, contests, strict=False):
        names, rates = list(bars.rates), list(bars.rates.values())
        medians = [rate.median for rate in rates]
        whiskers = [[rate.median - rate.low for rate in rates], [rate.high - rate.median for rate in rates]]
        colours = [COLOURS[is_ours(name)] for name in names]
        axis.barh(range(len(names)), medians, xerr=whiskers, color=colours, error_kw={"elinewidth": 1, "capsize": 2})
        axis.set_yticks(range(len(names)), names, fontsize=8)
        axis.invert_yaxis()
        axis.set_title(bars.title, fontsize=10)
        axis.set_xlabel(bars.unit, fontsize=8)
        axis.tick_params(axis="x", labelsize=8)
        axis.xaxis.set_major_formatter("{x:,.0f}" if max(medians) > 10 else "{x:.1f}")
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    pyplot.close(figure)
