"""Draw the picture of docs/adding.md: what a linear map finds in word + position, and how far two directions are apart.

.venv/bin/python docs/pictures/adding.py
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import torch
from matplotlib import pyplot as plt

from prosector.observe import linear_probe
from prosector.positions import sinusoid

WORDS, POSITIONS, WIDTHS = 50, 32, (4, 8, 16, 24, 32, 48, 64, 96, 128)
ORANGE, BLUE, GREEN = "#d9822b", "#3f7cac", "#5b8c5a"


def recovered(d: int, seed: int) -> tuple[float, float]:
    """The shares of unseen sums whose word, and whose position, is found."""
    generator = torch.Generator().manual_seed(seed)
    words = torch.randn(WORDS, d, generator=generator, dtype=torch.float64)
    sums = (words[:, None] + sinusoid(torch.arange(POSITIONS), d)).flatten(0, 1)
    labels = torch.cartesian_prod(torch.arange(WORDS), torch.arange(POSITIONS))
    asked = torch.rand(len(sums), generator=generator) < 0.5
    return linear_probe(sums, labels[:, 0], asked), linear_probe(sums, labels[:, 1], asked)


def main() -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    shares = torch.tensor([[recovered(d, seed) for d in WIDTHS] for seed in range(5)])  # [seeds, widths, 2]
    for column, (name, colour) in enumerate((("word", BLUE), ("position", ORANGE))):
        found = shares[..., column]
        left.plot(WIDTHS, found.mean(0), color=colour, marker="o", label=name)
        left.fill_between(WIDTHS, found.amin(0), found.amax(0), color=colour, alpha=0.25, linewidth=0)
    left.set(
        xlabel="d, features of a token", ylabel="share found", ylim=(0, 1.05), title="found in x + p by a linear map"
    )
    left.legend()
    for d, colour in ((8, ORANGE), (128, BLUE), (2048, GREEN)):
        a, b = torch.randn(2, 20_000, d, generator=torch.Generator().manual_seed(0)).unbind()
        cosines = torch.nn.functional.cosine_similarity(a, b)
        right.hist(
            cosines.numpy(), bins=100, range=(-1, 1), density=True, histtype="step", color=colour, label=f"d = {d}"
        )
    right.set(xlabel="cosine of two random vectors", ylabel="density", xticks=[-1, -0.5, 0, 0.5, 1], yscale="symlog")
    right.set(title="in many dimensions, nearly orthogonal")
    right.legend()
    figure.savefig(Path(__file__).with_name("adding.png"), dpi=110)
    for d, row in zip(WIDTHS, shares.mean(0).tolist(), strict=True):
        print(f"d {d}: word {row[0]:.2f}, position {row[1]:.2f}")


if __name__ == "__main__":
    main()
