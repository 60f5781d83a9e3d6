"""Who trains fastest? A step of ours, forward, backward and AdamW, against torch.nn and Hugging Face's Marian.

Ours and Marian have the same weights, and their losses are compared before the clock starts; torch.nn has its own. All
drop a tenth after embeddings and sublayers, and smooth labels by a tenth.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from prosector.bench.contest import WORDS, config_of
from prosector.bench.engines import CPU, marian
from prosector.bench.rounds import Rate, race
from prosector.config.training import TrainingConfig
from prosector.config.transformer import TransformerConfig
from prosector.evaluation.cost import training_operations
from prosector.positions.sinusoidal import sinusoid
from prosector.training.loss import chunked_cross_entropy
from prosector.training.optimizer import build_optimizer
from prosector.training.precision import Precision, matrix_products, resolve

LENGTH, SHORTEST, SMOOTHING, DROPOUT = 28, 22, 0.1, 0.1
PAIRS = {"small": 128, "base": 80}
OURS = "prosector"
Loss = Callable[[], Tensor]


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


class TorchTranslator(nn.Module):
    """torch.nn.Transformer with a tied table and the same sinusoid."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        d = config.d_model
        self.scale = d**0.5
        self.table = nn.Embedding(WORDS, d)
        nn.init.normal_(self.table.weight, std=d**-0.5)
        layers = config.encoder_layers, config.decoder_layers
        self.core = nn.Transformer(d, config.n_heads, *layers, config.d_ff, dropout=DROPOUT, batch_first=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.register_buffer("positions", sinusoid(torch.arange(LENGTH), d, "half-split"))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x = self.dropout(self.table(src) * self.scale + self.positions)
        y = self.dropout(self.table(tgt) * self.scale + self.positions)
        causal, padding = torch.ones(LENGTH, LENGTH, dtype=torch.bool).triu(1), src == 0
        masks = {"src_key_padding_mask": padding, "memory_key_padding_mask": padding}
        return F.linear(self.core(x, y, tgt_mask=causal, tgt_is_causal=True, **masks), self.table.weight)


def losses_of(size: str, given: Sentences, precision: Precision) -> dict[str, tuple[nn.Module, Loss]]:
    """Each contender's model and what it minimises."""
    from prosector.interop.hugging_face.exporting import to_hugging_face

    found: dict[str, tuple[nn.Module, Loss]] = {}
    torch.manual_seed(1)
    first = config_of(size, dropout=DROPOUT).build()
    for kernel in ("written-out", "sdpa"):
        ours = config_of(size, dropout=DROPOUT, kernel=kernel).build().train()
        ours.load_state_dict(first.state_dict())
        found[f"{OURS}, {kernel}"] = ours, our_loss(ours, given, precision)
    for attention in ("sdpa", "eager"):
        theirs = marian(*to_hugging_face(first), attn_implementation=attention).train()
        found[f"Hugging Face Marian, {attention}"] = theirs, plain_loss(marian_logits(theirs, given), given, precision)
    reference = TorchTranslator(first.config).train()
    found["torch.nn.Transformer"] = reference, plain_loss(lambda: reference(given.src, given.tgt_in), given, precision)
    return found


def our_loss(model: Any, given: Sentences, precision: Precision) -> Loss:
    """Cross-entropy whose logits never exist at once, as in `prosector train`."""

    def loss() -> Tensor:
        with matrix_products(precision, CPU):
            hidden = model.hidden(given.src, given.tgt_in)
            return chunked_cross_entropy(hidden, model.output.weight, given.labels, SMOOTHING)

    return loss


def marian_logits(theirs: Any, given: Sentences) -> Callable[[], Tensor]:
    """Those of a `MarianMTModel`."""
    mask = (given.src != 0).long()
    return lambda: (
        theirs(input_ids=given.src, attention_mask=mask, decoder_input_ids=given.tgt_in, use_cache=False).logits
    )


def plain_loss(logits: Callable[[], Tensor], given: Sentences, precision: Precision) -> Loss:
    """PyTorch's cross-entropy of whatever gives logits."""

    def loss() -> Tensor:
        with matrix_products(precision, CPU):
            flat = logits().flatten(0, 1)
        labels = given.labels.flatten()
        return F.cross_entropy(flat.float(), labels, ignore_index=0, label_smoothing=SMOOTHING)

    return loss


def stepping(model: nn.Module, loss: Loss, n_tokens: int) -> Callable[[], float]:
    """A step of training; the target tokens that it learned from."""
    optimizer = build_optimizer(model, TrainingConfig(learning_rate=3e-4))

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
        return float(n_tokens)

    return step


class Result(NamedTuple):
    """Target tokens a second of each contender, in what precision, and how many GFLOP a target token takes."""

    size: str
    precision: str
    gflop: float
    losses: dict[str, float]
    rates: dict[str, Rate]

    @property
    def best(self) -> float:
        """The best peer's."""
        return max(rate.median for name, rate in self.rates.items() if not name.startswith(OURS))

    @property
    def ratio(self) -> float:
        """Ours over the best peer's."""
        return max(rate.median for name, rate in self.rates.items() if name.startswith(OURS)) / self.best

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        rates = {name: rate._asdict() for name, rate in self.rates.items()}
        return self._asdict() | {"rates": rates, "ratio": self.ratio}


def run(size: str, seconds: float, precision: Precision = "auto") -> Result:
    """Let them all train on one batch, in turns; untrained losses first, with nothing dropped."""
    given = sentences(PAIRS.get(size, 16))
    warnings.filterwarnings("ignore", message="enable_nested_tensor")
    contenders = losses_of(size, given, precision)
    losses = {}
    for name, (model, loss) in contenders.items():  # with gradients: without, torch.nn takes a path that bf16 breaks
        model.eval()
        losses[name] = loss().item()
        model.train()
    rates = race({name: stepping(*pair, given.n_tokens) for name, pair in contenders.items()}, seconds)
    mean = given.n_tokens / len(given.src)
    operations = training_operations(config_of(size), round(mean), round(mean)) / mean
    return Result(size, resolve(precision, CPU), operations / 1e9, losses, rates)
