"""Draw the pictures of docs/architecture.md: the house, and the way of one sentence through a real model.

    .venv/bin/python docs/pictures/draw.py [--model zh-en]

Needs a font with Chinese characters (Debian: fonts-noto-cjk).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import torch
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from prosector.cli.figure import font_for
from prosector.decoding.greedy_search import greedy
from prosector.decoding.translator import load
from prosector.observe import observe
from prosector.text.special import EOS, SOS

HERE = Path(__file__).parent
INK, PAPER, WARM, COOL, LEAF = "#22313f", "#fbfaf7", "#f6dfc1", "#d4e4f1", "#dcebd5"

FLOORS = [  # from the floor up: the colour, and each room's name and what is in it
    (
        PAPER,
        [
            ("tap", "see and change\na value"),
            ("config", "what a part is,\nwithout PyTorch"),
            ("presets", "recipes"),
            ("pretrained", "models"),
        ],
    ),
    (WARM, [("attention", "scores → mask → softmax → weighted sum")]),
    (WARM, [("positions", "binary … RoPE … your own"), ("blocks", "norms, feed-forward,\nlayers, stacks")]),
    (WARM, [("nn", "torch.nn's six classes"), ("models", "the Transformer, and eight relatives")]),
    (COOL, [("observe", "record and edit"), ("text", "tokenizers"), ("data", "pairs, texts,\npictures; batches")]),
    (
        COOL,
        [
            ("evaluation", "BLEU, bits a byte,\naccuracy, Dice"),
            ("decoding", "greedy, sampling, beam;\nwho uses a model"),
        ],
    ),
    (
        LEAF,
        [
            ("explain", "the page"),
            ("training", "the loop;\none file a family"),
            ("interop", "other libraries,\nboth ways"),
            ("bench", "who is faster"),
            ("cli", "one file a command"),
        ],
    ),
]


def room(ax: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    """One box."""
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=colour, edgecolor=INK, linewidth=1.2))


def canvas(width: float, height: float) -> tuple[plt.Figure, Axes]:
    """An empty page, one unit an inch."""
    figure = plt.figure(figsize=(width, height), facecolor="white")
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    return figure, ax


def draw_house() -> None:
    """The packages as rooms; a room may use those on the floors below it."""
    figure, ax = canvas(9, 7.2)
    for level, (colour, rooms) in enumerate(FLOORS):
        y, width = 0.25 + level * 0.92, 8.1 / len(rooms)
        for number, (name, what) in enumerate(rooms):
            x = 0.25 + number * width
            room(ax, x + 0.04, y, width - 0.08, 0.84, colour)
            ax.text(x + width / 2, y + 0.62, name, ha="center", va="center", fontsize=13, weight="bold", color=INK)
            ax.text(x + width / 2, y + 0.27, what, ha="center", va="center", fontsize=9.5, color=INK, linespacing=1.1)
    ax.annotate("", (8.7, 0.3), (8.7, 6.6), arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.6})
    ax.text(8.84, 3.5, "imports go down only", rotation=270, ha="center", va="center", fontsize=10, color=INK)
    figure.savefig(HERE / "house.png", dpi=110)
    plt.close(figure)


def numbers(row: torch.Tensor) -> str:
    """The first numbers of a vector."""
    return "[" + ", ".join(f"{value:+.2f}" for value in row[:4].tolist()) + ", …]"


def draw_sentence(name: str, text: str) -> None:
    """Each station of a sentence, with the shapes and first numbers of this very run."""
    translator = load(name)
    model, source, target = translator.model, translator.source, translator.target
    src = torch.tensor([[*source.encode(text), EOS]])
    with torch.inference_mode():
        written = greedy(model, src, max_length=30)[0].ids
        with observe(model) as seen:
            logits = model(src, torch.tensor([[SOS, *written]]))
    best = logits[0, 0].softmax(-1).topk(3)
    likely = zip(best.values.tolist(), best.indices.tolist(), strict=True)
    n_encoder, n_decoder = model.config.encoder_layers, model.config.decoder_layers
    cross = seen[f"decoder.{n_decoder - 1}.cross.weights"][0].mean(0)  # [Lt, Ls], the mean of the heads
    pieces = [source.piece(i) for i in src[0].tolist()]
    words = [target.piece(i) for i in written]
    shape = {name: list(seen[name].shape) for name in ("encoder.input", "encoder", "decoder", "logits")}
    first = {name: numbers(seen[name][0, 0]) for name in ("encoder.input", "encoder", "decoder")}
    stations = [
        (COOL, "text", text),
        (COOL, "pieces", "  ".join(pieces)),
        (COOL, "ids", "  ".join(map(str, src[0].tolist()))),
        (WARM, f"embedding × √d + positions   {shape['encoder.input']}", first["encoder.input"]),
        (WARM, f"encoder, {n_encoder} layers → memory   {shape['encoder']}", first["encoder"]),
        (WARM, f"decoder, {n_decoder} layers, after <sos>   {shape['decoder']}", first["decoder"]),
        (
            LEAF,
            f"logits → probabilities of the first word   {shape['logits']}",
            "   ".join(f"{target.piece(i)} {p:.0%}" for p, i in likely),
        ),
        (LEAF, "again and again, until <eos>", "  ".join([*words, "<eos>"])),
        (LEAF, "text", target.decode(written)),
    ]
    height = 0.74
    figure, ax = canvas(12, 0.4 + height * len(stations))
    for number, (colour, title, what) in enumerate(stations):
        y = 0.2 + height * (len(stations) - 1 - number)
        room(ax, 0.25, y + 0.05, 7.0, height - 0.17, colour)
        ax.text(0.42, y + 0.44, title.replace("$", r"\$"), va="center", fontsize=9, color=INK)
        ax.text(0.42, y + 0.21, what.replace("$", r"\$"), va="center", fontsize=11, color=INK)
        if number:
            ax.annotate(
                "", (3.7, y + height - 0.12), (3.7, y + height + 0.05), arrowprops={"arrowstyle": "-|>", "color": INK}
            )
    heat = figure.add_axes((0.70, 0.22, 0.27, 0.55))
    heat.imshow(cross.numpy(), cmap="Oranges", vmin=0, vmax=1)
    heat.set_xticks(range(len(pieces)), pieces, fontsize=10)
    heat.set_yticks(range(len(words) + 1), [*words, "<eos>"], fontsize=10)
    heat.xaxis.tick_top()
    heat.set_title("where each written piece looked\n(cross-attention, last layer, mean of heads)", fontsize=9, pad=10)
    figure.savefig(HERE / "sentence.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="zh-en", help="a Chinese-to-English model: a name or a folder")
    options = parser.parse_args()
    text = "我喜欢深度学习。"
    font = font_for(text)
    if font is None:
        parser.error("no font with Chinese characters was found; install one (Debian: fonts-noto-cjk)")
    font_manager.fontManager.addfont(font)
    plt.rcParams["font.sans-serif"] = [font_manager.FontProperties(fname=font).get_name(), "DejaVu Sans"]
    draw_house()
    draw_sentence(options.model, text)


if __name__ == "__main__":
    main()
