"""A picture of cross-attention: for each word written, how much it looked at each word of the source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prosector.text.chinese import HAN

if TYPE_CHECKING:
    from torch import Tensor


def draw_attention(
    path: Path, weights: Tensor, written: Sequence[str], read: Sequence[str], title: str, font: Path | None
) -> None:
    """Save a heat map of weights [H, Lq, Lk], one panel a head and their mean, as PNG.

    Without a font that has Chinese, a Chinese word's place is its number (1, 2, …) in the sentence.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.font_manager import FontProperties

    columns_read, rows_written = (
        list(words) if font or not has_han(words) else [str(place + 1) for place in range(len(words))]
        for words in (read, written)
    )
    properties = FontProperties(fname=str(font)) if font else FontProperties()
    n_heads = weights.shape[0]
    panels = [("mean of the heads", weights.mean(dim=0)), *((f"head {h + 1}", weights[h]) for h in range(n_heads))]
    columns = 3 if n_heads > 1 else 2
    rows = -(-len(panels) // columns)
    width, height = 1.2 + 0.42 * len(read), 1.1 + 0.36 * len(written)
    figure, axes = pyplot.subplots(
        rows, columns, figsize=(width * columns, height * rows + 0.6), squeeze=False, layout="constrained"
    )
    figure.suptitle(title, fontproperties=properties, fontsize=13)
    for axis in axes.flat[len(panels) :]:
        axis.remove()
    used = list(axes.flat[: len(panels)])
    for number, (axis, (name, values)) in enumerate(zip(used, panels, strict=True)):
        image = axis.imshow(values.float().numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
        axis.set_title(name, fontsize=10)
        axis.set_xticks(range(len(read)), columns_read, fontproperties=properties, fontsize=11)
        names = rows_written if number % columns == 0 else [""] * len(written)
        axis.set_yticks(range(len(written)), names, fontproperties=properties, fontsize=10)
        axis.tick_params(length=0)
    figure.colorbar(image, ax=used, label="attention weight", shrink=0.6)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def has_han(words: Sequence[str]) -> bool:
    """Whether Chinese characters are among the words."""
    import re

    return any(re.search(f"[{HAN}]", word) for word in words)
