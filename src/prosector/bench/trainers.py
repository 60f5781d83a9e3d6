"""Who trains in a contest: ours, and the libraries of `peers.py`, each with its loss and a step of AdamW.

Those with our weights have our loss, which is compared before the clock starts. All drop a tenth after embeddings and
sublayers, and smooth labels by a tenth; where a library's own loss does not, or does it more slowly, its logits go to
PyTorch's cross-entropy. JoeyNMT has a Python of its own (`joeynmt.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.attention.packing import without_padding
from prosector.bench.rounds import Work
from prosector.config.transformer import TransformerConfig
from prosector.training.loss import chunked_cross_entropy
from prosector.training.precision import Precision, matrix_products

CPU = torch.device("cpu")
LENGTH, SHORTEST, SMOOTHING, LEARNING_RATE = 28, 22, 0.1, 3e-4
OURS = "prosector"
Loss = Callable[[Precision], Tensor]
Weights = Literal["ours", "its own"]


class Sentences(NamedTuple):
    """One batch of made-up ids: sources, what the decoder reads, what it shall write, and how many labels are real."""

    src: Tensor
    tgt_in: Tensor
    labels: Tensor
    n_tokens: int


def sentences(pairs: int, words: int, seed: int = 1) -> Sentences:
    """Pairs of 22 to 28 tokens, both sides alike long."""
    made = torch.Generator().manual_seed(seed)
    lengths = torch.randint(SHORTEST, LENGTH + 1, (pairs,), generator=made)
    lengths[0] = LENGTH
    real = torch.arange(LENGTH) < lengths[:, None]
    src, labels = (torch.randint(4, words, (pairs, LENGTH), generator=made) * real for _ in range(2))
    tgt_in = torch.cat([torch.full((pairs, 1), 2), labels[:, :-1]], dim=1)
    return Sentences(src, tgt_in, labels, int(real.sum()))


class Contender(NamedTuple):
    """Who trains.

    Attributes:
        model: in training.
        loss: what it minimises, in a type of products.
        weights: whose it begins with.
    """

    model: nn.Module
    loss: Loss
    weights: Weights


# --- who there is ----------------------------------------------------------------------------------------------------


def ours(config: TransformerConfig, given: Sentences, kernel: Literal["written-out", "sdpa"]) -> Contender:
    """Our translator, by one of our kernels."""
    model = first(config, kernel)
    return Contender(model.train(), our_loss(model, given), "ours")


def marian(config: TransformerConfig, given: Sentences, attention: str) -> Contender:
    """Hugging Face's."""
    from prosector.bench.peers import Marian

    return theirs(Marian(first(config), attention), given, "ours")


def torch_nn(config: TransformerConfig, given: Sentences) -> Contender:
    """PyTorch's own."""
    from prosector.bench.peers import TorchTranslator

    return theirs(TorchTranslator(config, LENGTH), given, "its own")


def x_transformers(config: TransformerConfig, given: Sentences, flash: bool) -> Contender:
    """That of x-transformers."""
    from prosector.bench.peers import XTransformer

    return theirs(XTransformer(config, LENGTH, flash), given, "its own")


CONTENDERS: dict[str, Callable[[TransformerConfig, Sentences], Contender]] = {
    f"{OURS}, written-out": lambda config, given: ours(config, given, "written-out"),
    f"{OURS}, sdpa": lambda config, given: ours(config, given, "sdpa"),
    "Hugging Face Marian, sdpa": lambda config, given: marian(config, given, "sdpa"),
    "Hugging Face Marian, eager": lambda config, given: marian(config, given, "eager"),
    "torch.nn.Transformer": torch_nn,
    "x-transformers, sdpa": lambda config, given: x_transformers(config, given, flash=True),
    "x-transformers, eager": lambda config, given: x_transformers(config, given, flash=False),
}


def first(config: TransformerConfig, kernel: Literal["written-out", "sdpa"] = "sdpa") -> Any:
    """Our translator with the weights that all begin with who can."""
    torch.manual_seed(1)
    return config.model_copy(update={"kernel": kernel}).build()


def theirs(model: nn.Module, given: Sentences, weights: Weights) -> Contender:
    """A peer, with PyTorch's cross-entropy."""
    return Contender(model.train(), plain_loss(model, given), weights)


# --- what they do ----------------------------------------------------------------------------------------------------


def our_loss(model: Any, given: Sentences) -> Loss:
    """Without padding, and by a cross-entropy whose logits never exist at once, as in `prosector train`."""

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
        optimizer.zero_grad(set_to_none=True)
        return float(n_tokens)

    return step
