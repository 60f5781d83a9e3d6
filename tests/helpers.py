"""What several tests share: position encodings, tiny models, random masks, and an observer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn

from prosector import tap
from prosector.attention import Mask
from prosector.config.position import register_position
from prosector.config.transformer import TransformerConfig
from prosector.models.transformer import Transformer
from prosector.positions import Position

Module = TypeVar("Module", bound=nn.Module)

# For laws whose single example takes long, or which have many cases already: fewer examples than the others.
fewer = settings(max_examples=settings.default.max_examples // 3)
few = settings(max_examples=settings.default.max_examples // 6)

# --- positions ---------------------------------------------------------------------------------------------------


@register_position
class Everywhere(Position):
    """A user's own encoding that acts at all three places, and learns at one of them."""

    def __init__(self, d_model: int, n_heads: int, d_head: int, bidirectional: bool, size: float = 0.3) -> None:
        super().__init__()
        self.size = size
        self.slopes = nn.Parameter(torch.randn(n_heads))

    def embed(self, x, positions):
        return x + self.size * torch.sin(positions[..., None].to(x.dtype))

    def rotate(self, query, key, query_positions, key_positions):
        return self._grow(query, query_positions), self._grow(key, key_positions)

    def bias(self, query_positions, key_positions):
        apart = key_positions[..., None, :] - query_positions[..., :, None]
        apart = apart if apart.ndim == 3 else apart[None]
        return self.slopes[:, None, None] * torch.tanh(apart[:, None].to(self.slopes.dtype))

    def _grow(self, x, positions):
        return x * (1 + self.size * torch.cos(positions.to(x.dtype)))[..., None, :, None]


# Every kind that a config can name, in every layout; each fits models of a few features and short sentences.
POSITIONS: dict[str, Any] = {
    "none": "none",
    "binary": "binary",
    "one-hot": "one-hot",
    "sinusoidal": {"kind": "sinusoidal", "layout": "interleaved"},
    "sinusoidal half-split": {"kind": "sinusoidal", "layout": "half-split"},
    "learned": {"kind": "learned", "max_length": 16},
    "rope": {"kind": "rope", "layout": "half-split"},
    "rope interleaved": {"kind": "rope", "layout": "interleaved"},
    "yarn": {"kind": "yarn", "factor": 2.0, "original_max_positions": 8},
    "alibi": "alibi",
    "t5": {"kind": "t5", "num_buckets": 8, "max_distance": 10},
    "a user's own": {"kind": "Everywhere", "options": {"size": 0.5}},
}

# --- models ------------------------------------------------------------------------------------------------------

TINY = {
    "source_vocab": 23,
    "target_vocab": 19,
    "d_model": 16,
    "n_heads": 4,
    "d_ff": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "dropout": 0.0,
}


def tiny(dtype: torch.dtype = torch.float64, **changes: Any) -> Transformer:
    """A Transformer of a few thousand numbers, in evaluation, none of its weights at a value that hides mistakes."""
    model = TransformerConfig(**TINY | changes).build().to(dtype)
    return stirred(model).eval()


def stirred(module: Module) -> Module:
    """Move every weight and every running statistic a little, so that no bias is 0 and no scale is 1."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.2 * torch.randn_like(parameter)
        for buffer in filter(torch.is_floating_point, module.buffers()):
            buffer += 0.2 * torch.rand_like(buffer)
    return module


def assert_same(ours: Tensor, theirs: Tensor, within: float) -> None:
    """No number differs by more than `within` times the largest there is (or times 1, if that is less)."""
    assert ours.shape == theirs.shape
    assert (ours - theirs).abs().max().item() <= within * max(1.0, theirs.abs().max().item())


def sentences(rows: int, length: int, vocab: int = 19) -> Tensor:
    """Random ids without a special one, [rows, length]."""
    return torch.randint(4, vocab, (rows, length))


# --- masks -------------------------------------------------------------------------------------------------------

Rule = Callable[[int, int, int, int, int, int], bool]  # (row, head, query, key, query position, key position)


@dataclass
class MaskAndRule:
    """A mask, and the same in plain Python, one pair at a time."""

    mask: Mask
    rule: Rule
    text: str

    def __and__(self, other):
        return MaskAndRule(
            self.mask & other.mask, lambda *at: self.rule(*at) and other.rule(*at), f"({self.text} & {other.text})"
        )

    def __or__(self, other):
        return MaskAndRule(
            self.mask | other.mask, lambda *at: self.rule(*at) or other.rule(*at), f"({self.text} | {other.text})"
        )

    def __repr__(self):
        return self.text


def random_bools(seed: int, *shape: int) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.6


@st.composite
def single_masks(draw, B: int, H: int, Lq: int, Lk: int) -> MaskAndRule:
    """One mask of any kind that fits these sizes."""
    kind = draw(st.sampled_from(["causal", "window", "prefix", "prefixes", "keys", "padding", "dense"]))
    seed = draw(st.integers(0, 999))
    if kind == "causal":
        return MaskAndRule(Mask.causal(), lambda b, h, i, j, p, q: q <= p, "causal")
    if kind == "window":
        left, right = (draw(st.none() | st.integers(0, 4)) for _ in range(2))
        return MaskAndRule(
            Mask.window(left, right),
            lambda b, h, i, j, p, q: (left is None or p - q <= left) and (right is None or q - p <= right),
            f"window({left}, {right})",
        )
    if kind == "prefix":
        n = draw(st.integers(0, 4))
        return MaskAndRule(Mask.prefix(n), lambda b, h, i, j, p, q: q < n or q <= p, f"prefix({n})")
    if kind == "prefixes":
        ns = draw(st.lists(st.integers(0, 4), min_size=B, max_size=B))
        return MaskAndRule(Mask.prefix(torch.tensor(ns)), lambda b, h, i, j, p, q: q < ns[b] or q <= p, f"prefix({ns})")
    if kind == "padding":
        lengths = draw(st.lists(st.integers(0, Lk), min_size=B, max_size=B))
        return MaskAndRule(
            Mask.padding(torch.tensor(lengths), Lk), lambda b, h, i, j, p, q: j < lengths[b], f"padding({lengths})"
        )
    if kind == "keys":
        real = random_bools(seed, B, Lk)
        return MaskAndRule(Mask.keys(real), lambda b, h, i, j, p, q: bool(real[b, j]), f"keys({real.int().tolist()})")
    shape = draw(st.sampled_from([(Lq, Lk), (B, Lq, Lk), (B, H, Lq, Lk), (1, H, Lq, Lk), (B, 1, Lq, Lk)]))
    table = random_bools(seed, *shape)
    full = (table[:, None] if table.ndim == 3 else table).expand(B, H, Lq, Lk)
    return MaskAndRule(
        Mask.dense(table), lambda b, h, i, j, p, q: bool(full[b, h, i, j]), f"dense({table.int().tolist()})"
    )


def masks(B: int, H: int, Lq: int, Lk: int) -> st.SearchStrategy[MaskAndRule]:
    """A mask of any kind, or several combined by & and |."""
    return st.recursive(
        single_masks(B, H, Lq, Lk),
        lambda m: st.builds(lambda x, y: x & y, m, m) | st.builds(lambda x, y: x | y, m, m),
        max_leaves=3,
    )


# --- observing ---------------------------------------------------------------------------------------------------


@dataclass
class Watch:
    """The plainest observer: writes down what passes, and replaces what `changes` names.

    `changes` maps (module, name) to what is made of the value there.
    """

    changes: dict[tuple[nn.Module, str], Callable[[Tensor], Tensor]] = field(default_factory=dict)
    seen: list[tuple[nn.Module, str, Tensor]] = field(default_factory=list)

    def visit(self, module: nn.Module, name: str, value: Tensor) -> Tensor:
        self.seen.append((module, name, value.detach().clone()))
        return self.changes.get((module, name), lambda same: same)(value)

    def wants(self, module: nn.Module, name: str) -> bool:
        return True

    def edits(self, module: nn.Module, name: str) -> bool:
        return (module, name) in self.changes

    def mask(self, module: nn.Module, mask: Any) -> Any:
        return mask

    def values(self, module: nn.Module, name: str) -> list[Tensor]:
        """All that passed one tap, in order."""
        return [value for where, what, value in self.seen if where is module and what == name]


@contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Let it observe this thread's runs."""
    token = tap.observer.set(watch)
    try:
        yield watch
    finally:
        tap.observer.reset(token)


# --- torch.nn's weights ------------------------------------------------------------------------------------------


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    """Give ours the weights of torch.nn's, whose three projections lie in one matrix."""
    weights = {"output.weight": theirs.out_proj.weight}
    for part, name in enumerate(("query", "key", "value")):
        weights[f"{name}.weight"] = theirs.in_proj_weight.chunk(3)[part]
        if theirs.in_proj_bias is not None:
            weights |= {f"{name}.bias": theirs.in_proj_bias.chunk(3)[part], "output.bias": theirs.out_proj.bias}
    ours.load_state_dict(weights)
