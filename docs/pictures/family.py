"""Draw the pictures of docs/family/ from the shipped models, and one from the logs of what was measured.

    .venv/bin/python docs/pictures/family.py [rnn gpt …]

Needs a font with Chinese characters (Debian: fonts-noto-cjk). The test pictures are fetched from PyPI once.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import torch
from matplotlib import font_manager
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import prosector
from prosector.cli.figure import font_for
from prosector.config.run import read_run
from prosector.data.corpus import PRESETS
from prosector.data.masks import read_masks
from prosector.data.pictures import read_pictures, split
from prosector.decoding.greedy_search import greedy
from prosector.observe import observe
from prosector.text.special import EOS, SOS

HERE = Path(__file__).parent
LOGS = HERE.parents[1] / "results/logs/family"
INK, ORANGE, BLUE, GREEN = "#22313f", "#d9822b", "#3f7cac", "#5b8c5a"
KINDS_OF_SENTENCE = {
    "asks": (ORANGE, ["你叫什么名字？", "你住在哪里？", "你想吃什么？", "他什么时候来？", "你喜欢音乐吗？"]),
    "tells": (BLUE, ["我叫汤姆。", "我住在北京。", "我想吃苹果。", "他明天来。", "我喜欢音乐。"]),
    "wants": (GREEN, ["请关门。", "请坐下。", "请别说话。", "请帮帮我。", "请等一下。"]),
}


def save(figure: plt.Figure, name: str) -> None:
    figure.savefig(HERE / f"{name}.png", dpi=110)
    plt.close(figure)


def draw_rnn() -> None:
    """Fifteen sentences as what the encoder hands over: their states, seen from where they differ most."""
    translator = prosector.load("rnn")
    sentences = [text for _, texts in KINDS_OF_SENTENCE.values() for text in texts]
    states = []
    for text in sentences:
        with torch.inference_mode():
            state = translator.model.encode(torch.tensor([translator.ids(text)]))
            states.append(translator.model.encoder.top(state)[0])
    x = torch.stack(states)
    x = x - x.mean(dim=0)
    u, s, _ = torch.linalg.svd(x, full_matrices=False)
    places = u[:, :2] * s[:2]  # the two directions in which they differ most
    share = (s[:2].square().sum() / s.square().sum()).item()
    figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
    number = 0
    for kind, (colour, texts) in KINDS_OF_SENTENCE.items():
        here = places[number : number + len(texts)]
        ax.scatter(here[:, 0], here[:, 1], color=colour, label=kind, s=36)
        for (a, b), text in zip(here.tolist(), texts, strict=True):
            ax.annotate(text, (a, b), xytext=(6, 4), textcoords="offset points", fontsize=10, color=INK)
        number += len(texts)
    ax.set_title(f"the one vector of each sentence, in two directions ({share:.0%} of the differences)", fontsize=11)
    ax.set(xticks=[], yticks=[])
    ax.margins(x=0.2, y=0.1)
    ax.legend(title="the sentence", fontsize=9, loc="lower right")
    save(figure, "rnn")


def draw_rnn_attention() -> None:
    """Where each word that was written looked."""
    translator, text = prosector.load("rnn-attention"), "我明天不去学校。"
    model, source, target = translator.model, translator.source, translator.target
    src = torch.tensor([translator.ids(text)])
    with torch.inference_mode():
        written = greedy(model, src, max_length=40)[0].ids
        memory = model.encode(src)
        rows, cache = [], model.new_cache()
        for token in [SOS, *written]:
            with observe(model, keep=["attention.weights"]) as seen:
                model.decode(torch.tensor([[token]]), memory, src > 0, cache)
            rows.append(seen["attention.weights"][0, 0])
    read, words = [source.piece(i) for i in src[0].tolist()], [*map(target.piece, written), "<eos>"]
    figure, ax = plt.subplots(figsize=(1.5 + 0.42 * len(read), 1.2 + 0.34 * len(words)), layout="constrained")
    image = ax.imshow(torch.stack(rows).numpy(), cmap="Oranges", vmin=0, vmax=1, aspect="auto")
    ax.set_xticks(range(len(read)), read, fontsize=11)
    ax.set_yticks(range(len(words)), words, fontsize=10)
    ax.xaxis.tick_top()
    figure.colorbar(image, ax=ax, label="attention weight", shrink=0.7)
    save(figure, "rnn-attention")


def draw_gpt() -> None:
    """What each token costs a reader who expects what the model expects, in bits."""
    writer = prosector.load("gpt")
    texts = ["I would like a cup of tea.", "I would like a cup of stars.", "我想喝一杯茶。"]
    figure, axes = plt.subplots(len(texts), 1, figsize=(8, 6), sharey=True, layout="constrained")
    for ax, text in zip(axes, texts, strict=True):
        ids = [EOS, *writer.tokenizer.encode(text), EOS]
        with torch.inference_mode():
            log_p = writer.model(torch.tensor([ids[:-1]]))[0].log_softmax(dim=-1)
        bits = -log_p[range(len(ids) - 1), ids[1:]] / torch.log(torch.tensor(2.0))
        names = [*map(writer.tokenizer.piece, ids[1:-1]), "<eos>"]
        ax.bar(range(len(names)), bits.tolist(), color=ORANGE, width=0.7)
        for place, value in enumerate(bits.tolist()):
            ax.text(place, value, f"{value:.1f}", ha="center", va="bottom", fontsize=8, color=INK)
        ax.set_xticks(range(len(names)), names, fontsize=10)
        ax.set_ylabel("bits")
        ax.margins(y=0.2)
        ax.set_title(f"{bits.sum():.0f} bits for {len(text.encode()) + 1} bytes", fontsize=10, loc="right")
    save(figure, "gpt")


def draw_bert() -> None:
    """What may stand in a gap."""
    reader = prosector.load("bert")
    texts = ["我[MASK]深度学习", "He [MASK] to school every day.", "今天[MASK]很好。"]
    figure, axes = plt.subplots(1, len(texts), figsize=(11, 3.2), layout="constrained")
    for ax, text in zip(axes, texts, strict=True):
        guesses = reader.fill(text, top=7)[0].guesses[::-1]
        ax.barh([guess.name for guess in guesses], [guess.probability for guess in guesses], color=BLUE)
        ax.set_title(text.replace("[MASK]", " ___ "), fontsize=11)
        ax.set_xlabel("probability")
        ax.tick_params(axis="y", labelsize=11)
    save(figure, "bert")


def draw_vit() -> None:
    """Unseen digits, and how much the class token looked at each patch."""
    classifier, parts = prosector.load("vit"), split_of("vit")
    chosen = [next(i for i, label in enumerate(parts.test.labels.tolist()) if label == digit) for digit in range(8)]
    pictures = parts.test.values[chosen]
    with observe(classifier.model) as seen:
        logits = classifier.logits(pictures)
    last = classifier.model.config.layers - 1
    weights = seen[f"encoder.{last}.attention.weights"][:, :, 0, 1:].mean(dim=1)  # [8, patches]: from the class token
    grid = classifier.model.config.grid(*pictures.shape[-2:])
    figure, axes = plt.subplots(2, len(chosen), figsize=(11, 3.2), layout="constrained")
    for column, picture in enumerate(pictures):
        over, under = axes[:, column]
        over.imshow(picture[0], cmap="gray")
        under.imshow(picture[0], cmap="gray")
        heat = weights[column].reshape(grid)
        under.imshow(heat, cmap="Oranges", alpha=0.65, extent=(-0.5, 27.5, 27.5, -0.5))
        best = logits[column].softmax(dim=0)
        over.set_title(f"{classifier.config.classes[int(best.argmax())]}  {best.max():.0%}", fontsize=10)
    bare(*axes.flat)
    figure.suptitle("what it says, and where the class token looked in the last layer", fontsize=11)
    save(figure, "vit")


def split_of(preset: str):
    """The pictures of a recipe in their parts."""
    config = read_run(PRESETS / f"{preset}.toml")
    return split(read_pictures(config.data.source), config.data)  # type: ignore[union-attr,arg-type]


def draw_conv_transformer() -> None:
    """How much is told right after 100, 500 and 3,600 pictures, by it and by ViT; every seed a dot."""
    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    for kind, colour in (("conv-transformer", ORANGE), ("vit", BLUE)):
        numbers, means = [], []
        for n in (100, 500, 3600):
            records = [json.loads(path.read_text("utf-8")) for path in sorted(LOGS.glob(f"{kind}-{n}-[0-9].json"))]
            wrong = [100 * (1 - record["accuracy"]) for record in records]
            if not wrong:
                continue
            ax.scatter([n] * len(wrong), wrong, color=colour, s=16, alpha=0.6)
            numbers.append(n)
            means.append(statistics.mean(wrong))
        ax.plot(numbers, means, color=colour, label=kind)
    ax.set(xscale="log", yscale="log", xlabel="pictures learned from", ylabel="per cent wrong of 1,000 unseen")
    ax.set_xticks([100, 500, 3600], ["100", "500", "3,600"])
    ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
    ax.minorticks_off()
    ax.legend()
    save(figure, "conv-transformer")


def draw_unet() -> None:
    """A block that it never saw: the picture, the truth, and what it says."""
    segmenter, pieces = prosector.load("unet"), read_masks("nuclei").test[:2]
    figure, axes = plt.subplots(len(pieces), 3, figsize=(7.5, 5.2), layout="constrained")
    for (left, middle, right), piece in zip(axes, pieces, strict=True):
        left.imshow(piece.picture[0], cmap="gray")
        middle.imshow(piece.classes, cmap="gray")
        right.imshow(segmenter.chances(piece.picture[None])[0, 1], cmap="gray", vmin=0, vmax=1)
        left.set_ylabel(piece.place.replace(", ", "\n"), fontsize=7)
    for ax, title in zip(axes[0], ("picture", "truth", "probability of a nucleus"), strict=True):
        ax.set_title(title, fontsize=10)
    bare(*axes.flat)
    save(figure, "unet")


def draw_attention_unet() -> None:
    """The same block by both, and the gates of the one that has some."""
    plain, gated, piece = prosector.load("unet"), prosector.load("attention-unet"), read_masks("nuclei").test[0]
    with observe(gated.model, keep=["gate*.coefficients"]) as seen:
        ours = gated.classes(gated.chances(piece.picture[None]))[0]
    theirs = plain.classes(plain.chances(piece.picture[None]))[0]
    panels = [("picture", piece.picture[0]), ("truth", piece.classes), ("U-Net", theirs), ("Attention U-Net", ours)]
    depth = gated.model.config.depth
    figure, axes = plt.subplots(2, 4, figsize=(11, 5.4), layout="constrained")
    for ax, (title, values) in zip(axes[0], panels, strict=True):
        ax.imshow(values, cmap="gray")
        ax.set_title(title, fontsize=10)
    for level, ax in enumerate(axes[1, :depth]):
        image = ax.imshow(seen[f"gate{level}.coefficients"][0, 0], cmap="inferno", vmin=0, vmax=1)
        ax.set_title(f"gate, 1/{2**level} of the resolution" if level else "gate, full resolution", fontsize=10)
    for ax in axes[1, depth:]:
        ax.axis("off")
    figure.colorbar(image, cax=axes[1, -1].inset_axes((0.05, 0.1, 0.06, 0.8)), label="how much passes")
    bare(*axes[0], *axes[1, :depth])
    save(figure, "attention-unet")


def bare(*axes: Axes) -> None:
    """Axes without ticks."""
    for ax in axes:
        ax.set(xticks=[], yticks=[])


DRAWINGS: dict[str, Callable[[], None]] = {
    "rnn": draw_rnn,
    "rnn-attention": draw_rnn_attention,
    "gpt": draw_gpt,
    "bert": draw_bert,
    "vit": draw_vit,
    "conv-transformer": draw_conv_transformer,
    "unet": draw_unet,
    "attention-unet": draw_attention_unet,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(DRAWINGS), choices=list(DRAWINGS), metavar="NAME")
    options = parser.parse_args()
    font = font_for("我喜欢深度学习。")
    if font is None:
        parser.error("no font with Chinese characters was found; install one (Debian: fonts-noto-cjk)")
    font_manager.fontManager.addfont(font)
    plt.rcParams["font.sans-serif"] = [font_manager.FontProperties(fname=font).get_name(), "DejaVu Sans"]
    for name in options.names:
        DRAWINGS[name]()


if __name__ == "__main__":
    main()
