"""Blocks of queries: which keys a mask lets them reach, and the mask of a block alone."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import masks

from prosector.attention import Mask
from prosector.attention.blocks import Part, reach, spans

KEYS = Mask.keys(torch.tensor([[True, False, True]]))


@pytest.mark.parametrize(
    "mask, reached",
    [
        (None, (None, None)),
        (Mask.causal(), (None, 0)),
        (Mask.window(3, 1), (3, 1)),
        (Mask.window(3, 1) & Mask.causal(), (3, 0)),
        (Mask.causal() & KEYS, (None, 0)),
        (Mask.window(3, 1) | Mask.window(0, 5), (3, 5)),
        (Mask.window(3, 1) | Mask.causal(), (None, 1)),
        (Mask.window(3, 1) | KEYS, (None, None)),  # a key that all may look at may be anywhere
        (Mask.prefix(2), (None, None)),
        ((Mask.window(9, 2) | Mask.window(1, 4)) & Mask.window(5, None), (5, 4)),
    ],
)
def test_how_far_a_mask_reaches(mask, reached):
    assert reach(mask) == reached


def test_blocks_of_a_window_by_hand():
    """Ten tokens, four at a time, each looking two back: the second block, 4 to 7, needs the keys from 2 to 7."""
    found = spans(10, 10, 4, (2, 0))
    assert [(q.start, q.stop, k.start, k.stop) for q, k in found] == [(0, 4, 0, 4), (4, 8, 2, 8), (8, 10, 6, 10)]
    (queries, keys) = spans(1, 100, 4, (2, 0))[0]  # one more token with a cache of 99: itself and two back
    assert (queries, keys) == (slice(0, 1), slice(97, 100))


@given(data=st.data())
def test_for_every_mask_what_is_out_of_a_blocks_reach_is_forbidden(data):
    B, H, n_queries, behind, size = (data.draw(st.integers(1, most)) for most in (2, 2, 9, 5, 4))
    n_keys = n_queries + behind - 1
    mask = data.draw(masks(B, H, n_queries, n_keys)).mask
    keys = torch.arange(n_keys)
    allowed = mask.may_look(keys[-n_queries:], keys)
    seen = torch.zeros(n_queries, n_keys, dtype=torch.bool)
    for here, there in spans(n_queries, n_keys, size, reach(mask)):
        seen[here, there] = True
        part = Part(mask, here.start, there.start).may_look(keys[-n_queries:][here], keys[there])
        assert torch.equal(part, allowed[..., here, there])
    assert not (allowed & ~seen).any()
