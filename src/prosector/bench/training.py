"""Who trains fastest? A step of ours, forward, backward and AdamW, against the libraries of `peers.py` and JoeyNMT.

Every one of them takes part in float32, and in bf16 where the machine multiplies it. Those with our weights have our
loss, which is compared before the clock starts. All drop a tenth after embeddings and sublayers, and smooth labels by
a tenth; where a library's own loss does not, or does it more slowly, its logits go to PyTorch's cross-entropy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.attention.packing import without_padding
from prosector.bench import joeynmt
from prosector.bench.contest import WORDS, config_of
from prosector.bench.engines import CPU
from prosector.bench.peers import Marian, TorchTranslator, XTransformer
from prosector.bench.rounds import Rate, Work, race
from prosector.config.training import TrainingConfig
from prosector.evaluation.cost import training_operations
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision, matrix_products, multiplies_bf16

LENGTH, SHORTEST, SMOOTHING, DROPOUT, LEARNING_RATE = 28, 22, 0.1, 0.1, 3e-4
PAIRS = {"small": 128, "base": 80}
# Seconds: a training's steps follow each other, and a single one would pay for the memory that others had before it.
TURN = {"small": 3.0, "base": 3.0}
OURS = "prosector"
Loss = Callable[[Precision], Tensor]
Weights = Literal["ours", "its own"]


class Sentences(NamedTuple):
    """One batch of made-up ids: sources, what the decoder reads, what it shall write, and how many labels are real."""

    src: Tensor
    tgt_in: Tensor
    labels: Tensor
    n_tokens: int


def sentences(pairs: int, seed: int = 1) -> Sentences:
    """Pairs of 22 to 28 tokens, both sides alike long."""
    made = torch.Generator().manual_seed(seed)
    lengths = torch.randint(SHORTEST, LENGTH + 1, (pairs,), generator=made)
    lengths[0] = LENGTH
    real = torch.arange(LENGTH) < lengths[:, None]
    src, labels = (torch.randint(4, WORDS, (pairs, LENGTH), generator=made) * real for _ in range(2))
    tgt_in = torch.cat([torch.full((pairs, 1), 2), labels[:, :-1]], dim=1)
    return Sentences(src, tgt_in, labels, int(real.sum()))


class Contender(NamedTuple):
    """Who trains in this process.

    Attributes:
        model: in training.
        loss: what it minimises, in a type of products.
        weights: whose it begins with.
    """

    model: nn.Module
    loss: Loss
    weights: Weights


def contenders(size: str, given: Sentences) -> dict[str, Contender]:
    """Everybody but JoeyNMT, each at every setting that may be its best.

    Raises:
        ImportError: a peer is not installed.
    """
    torch.manual_seed(1)
    config = config_of(size, dropout=DROPOUT)
    first = config.build()
    found: dict[str, Contender] = {}
    for kernel in ("written-out", "sdpa"):
        ours = config_of(size, dropout=DROPOUT, kernel=kernel).build()
        ours.load_state_dict(first.state_dict())
        found[f"{OURS}, {kernel}"] = Contender(ours.train(), our_loss(ours, given), "ours")
    peers: dict[str, tuple[nn.Module, Weights]] = {
        "Hugging Face Marian, sdpa": (Marian(first, "sdpa"), "ours"),
        "Hugging Face Marian, eager": (Marian(first, "eager"), "ours"),
        "torch.nn.Transformer": (TorchTranslator(config, LENGTH), "its own"),
        "x-transformers, sdpa": (XTransformer(config, LENGTH, flash=True), "its own"),
        "x-transformers, eager": (XTransformer(config, LENGTH, flash=False), "its own"),
    }
    theirs = {name: Contender(model.train(), plain_loss(model, given), of) for name, (model, of) in peers.items()}
    return found | theirs


def our_loss(model: Any, given: Sentences) -> Loss:
    """Cross-entropy whose logits never exist at once, as in `prosector train`."""

    def loss(precision: Precision) -> Tensor:
        with matrix_products(precision, CPU), without_padding():
            hidden = model.hidden(given.src, given.tgt_in)
            return chunked_cross_entropy(hidden, model.output.weight, given.labels, SMOOTHING)

    return loss


def plain_loss(logits: Callable[[Tensor, Tensor], Tensor], given: Sentences) -> Loss:
    """PyTorch's cross-entropy of whatever gives logits."""

    def loss(precision: Precision) -> Tensor:
        with matrix_products(precision, CPU):
            flat = logits(given.src, given.tgt_in).flatten(0, 1)
        labels = given.labels.flatten()
        return F.cross_entropy(flat.float(), labels, ignore_index=0, label_smoothing=SMOOTHING)

    return loss


def untrained(one: Contender, precision: Precision) -> float:
    """The loss with nothing dropped; with gradients: without, torch.nn takes a path that bf16 breaks."""
    one.model.eval()
    found = one.loss(precision).item()
    one.model.train()
    return found


def stepping(one: Contender, optimizer: torch.optim.Optimizer, precision: Precision, n_tokens: int) -> Work:
    """A step of training; the target tokens that it learned from."""

    def step() -> float:
        one.loss(precision).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)  # so that who waits holds no gradients
        return float(n_tokens)

    return step


class Result(NamedTuple):
    """A contest: its size, the pairs of a step, and of each contender in each type, by name.

    Attributes:
        gflop: that a target token takes.
        losses: before the first step.
        weights: whose each began with.
        rates: target tokens a second.
        versions: of what runs in a Python of its own.
    """

    size: str
    pairs: int
    gflop: float
    losses: dict[str, float]
    weights: dict[str, Weights]
    rates: dict[str, Rate]
    versions: dict[str, str]

    @property
    def ratio(self) -> float:
        """Ours over the best peer's, each at its best."""
        ours = {name: rate.median for name, rate in self.rates.items() if name.startswith(OURS)}
        return max(ours.values()) / max(rate.median for name, rate in self.rates.items() if name not in ours)

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        rates = {name: rate._asdict() for name, rate in self.rates.items()}
        return self._asdict() | {"rates": rates, "ratio": self.ratio}


def precisions() -> tuple[Precision, ...]:
    """The types of products that may be the fastest on this machine."""
    return ("float32", "bf16") if multiplies_bf16(CPU) else ("float32",)


def run(size: str, seconds: float, types: Sequence[Precision], joey: Path | None = None) -> Result:
    """Let them all train on one batch, in turns.

    Args:
        size: of the models.
        seconds: how long the turns may take.
        types: of the products.
        joey: a Python that has JoeyNMT, if it shall take part.
    """
    given = sentences(PAIRS.get(size, 16))
    losses: dict[str, float] = {}
    weights: dict[str, Weights] = {}
    works: dict[str, Work] = {}
    with ExitStack() as running:
        for who, one in contenders(size, given).items():
            optimizer = build_optimizer(one.model, TrainingConfig(learning_rate=LEARNING_RATE))
            for precision in types:
                name = f"{who}, {precision}"
                losses[name], weights[name] = untrained(one, precision), one.weights
                works[name] = stepping(one, optimizer, precision, given.n_tokens)
        versions = {}
        if joey:
            theirs = running.enter_context(joeynmt_of(size, given, joey))
            versions = theirs.versions
            for precision in types:
                name = f"JoeyNMT, {precision}"
                losses[name], weights[name] = theirs.do(f"loss {precision}"), "ours"
                works[name] = telling(theirs, f"step {precision}")
        rates = race(works, seconds, TURN.get(size, 0.0))
    mean = given.n_tokens / len(given.src)
    operations = training_operations(config_of(size), round(mean), round(mean)) / mean
    return Result(size, len(given.src), operations / 1e9, losses, weights, rates, versions)


def joeynmt_of(size: str, given: Sentences, python: Path) -> joeynmt.JoeyNMT:
    """JoeyNMT with the weights that ours begin with."""
    torch.manual_seed(1)
    model = config_of(size, dropout=DROPOUT).build()
    batch = {"src": given.src, "tgt_in": given.tgt_in, "labels": given.labels}
    settings = {"smoothing": SMOOTHING, "learning_rate": LEARNING_RATE}
    return joeynmt.learning(model, batch | settings, python, torch.get_num_threads())


def telling(theirs: joeynmt.JoeyNMT, word: str) -> Work:
    """What another process does when it is told to."""
    return lambda: float(theirs.do(word))
