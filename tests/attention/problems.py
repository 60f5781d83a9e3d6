"""Attention problems: queries, keys, values, a mask, a position of any kind, and what the arithmetic makes of them."""

from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from tests.helpers import Everywhere, MaskAndRule, masks
from torch import Tensor

from prosector.attention import Scope, functional
from prosector.positions import AlibiPosition, Position, RotaryPosition, T5Position, YarnPosition

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


class OneForAllHeads(Position):
    """A bias of the shape [1 or B, 1, Lq, Lk]."""

    def bias(self, query_positions, key_positions):
        apart = torch.atleast_2d(key_positions)[:, None, :] - torch.atleast_2d(query_positions)[:, :, None]
        return -0.1 * apart[:, None].double() ** 2


POSITIONS = {
    "none": lambda heads, d, bidirectional: Position(),
    "alibi": lambda heads, d, bidirectional: AlibiPosition(heads),
    "t5": lambda heads, d, bidirectional: T5Position(heads, bidirectional=bidirectional, num_buckets=8, max_distance=9),
    "rope": lambda heads, d, bidirectional: RotaryPosition(d),
    "yarn": lambda heads, d, bidirectional: YarnPosition(d, factor=2.0, original_max_positions=4),
    "a user's own": lambda heads, d, bidirectional: Everywhere(d * heads, heads, d, bidirectional),
    "one for all heads": lambda heads, d, bidirectional: OneForAllHeads(),
}


@dataclass
class Problem:
    """Queries, keys, values, and everything that takes part in their attention."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: MaskAndRule | None
    position: Position
    query_positions: Tensor
    key_positions: Tensor
    scale: float | None
    wanted: Tensor  # what the output's gradient is

    @property
    def counted(self) -> bool:
        """Whether the keys stand at 0, 1, 2, …, and the queries are the last of them."""
        at, n_queries = torch.arange(self.key.shape[2]), self.query.shape[2]
        return torch.equal(self.key_positions, at) and torch.equal(self.query_positions, at[-n_queries:])

    def solve(self, kernel, dtype, gradients=True):
        """The output and, with respect to queries, keys, values and the position's weights, the gradients."""
        position = self.position.to(dtype)
        query, key, value = (x.to(dtype).requires_grad_(gradients) for x in (self.query, self.key, self.value))
        with torch.set_grad_enabled(gradients):
            scope = Scope(
                self.query_positions,
                self.key_positions,
                self.mask and self.mask.mask,
                position,
                position.rotate,
                counted=self.counted,
            )
            output = kernel(*scope.place(query, key), value, scope, self.scale)
        if not gradients:
            return [output]
        leaves = [query, key, value, *position.parameters()]
        return [output, *torch.autograd.grad(output, leaves, self.wanted.to(dtype), materialize_grads=True)]


def arithmetic(query, key, value, scope, scale):
    """What every kernel must equal; each query head with a key head of its own."""
    key, value = functional.share_heads(key, query.shape[1]), functional.share_heads(value, query.shape[1])
    return functional.attention(query, key, value, scope.may_look, scope.bias, scale)


@st.composite
def problems(draw, positions=tuple(POSITIONS)):
    B, Hkv, group, Lq, Lk = (draw(st.integers(1, most)) for most in (3, 2, 3, 5, 6))
    d_k, d_v = draw(st.sampled_from([2, 4, 6])), draw(st.integers(1, 5))
    H = Hkv * group
    torch.manual_seed(draw(st.integers(0, 9999)))
    query_positions, key_positions = torch.arange(Lq), torch.arange(Lk)
    kind = draw(st.sampled_from(["counted", "behind a cache", "padded on the left"]))
    if kind == "behind a cache":
        query_positions = query_positions + max(Lk - Lq, 0)
    if kind == "padded on the left":
        padding = torch.randint(0, 4, (B, 1))
        query_positions, key_positions = ((p - padding).clamp(min=0) for p in (query_positions, key_positions))
    return Problem(
        query=torch.randn(B, H, Lq, d_k),
        key=torch.randn(B, Hkv, Lk, d_k),
        value=torch.randn(B, Hkv, Lk, d_v),
        mask=draw(st.none() | masks(B, H, Lq, Lk)),
        position=POSITIONS[draw(st.sampled_from(positions))](H, d_k, draw(st.booleans())),
        query_positions=query_positions,
        key_positions=key_positions,
        scale=draw(st.sampled_from([None, 1.0, 0.3])),
        wanted=torch.randn(B, H, Lq, d_v),
    )


def assert_all_close(ours, theirs, dtype):
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])
