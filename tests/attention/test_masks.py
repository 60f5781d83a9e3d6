"""Masks: every one is a rule of pairs, and dense it is that rule asked of every pair."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import masks

from prosector.attention import Mask
from prosector.attention.masks import Pairs

sizes = st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 5), st.integers(1, 6))


@st.composite
def masks_and_positions(draw):
    """A mask, its sizes, and positions as they come: counted, going on behind a cache, with padding on the left."""
    B, H, Lq, Lk = draw(sizes)
    mask = draw(masks(B, H, Lq, Lk))
    kind = draw(st.sampled_from(["counted", "behind a cache", "padded on the left"]))
    query_positions, key_positions = torch.arange(Lq), torch.arange(Lk)
    if kind == "behind a cache":
        query_positions = query_positions + max(Lk - Lq, 0)
    if kind == "padded on the left":
        padding = torch.tensor(draw(st.lists(st.integers(0, 3), min_size=B, max_size=B)))[:, None]
        query_positions, key_positions = query_positions - padding, key_positions - padding
    return mask, (B, H, Lq, Lk), query_positions, key_positions


@given(masks_and_positions())
def test_for_every_mask_dense_is_its_rule_asked_of_every_pair(case):
    mask, (B, H, Lq, Lk), query_positions, key_positions = case
    dense = mask.mask.may_look(query_positions, key_positions)
    assert dense.dtype == torch.bool
    assert dense.shape[0] in (1, B)
    assert dense.shape[1] in (1, H)
    dense = dense.expand(B, H, Lq, Lk)
    p, q = query_positions.expand(B, Lq).tolist(), key_positions.expand(B, Lk).tolist()
    by_hand = [
        [[[mask.rule(b, h, i, j, p[b][i], q[b][j]) for j in range(Lk)] for i in range(Lq)] for h in range(H)]
        for b in range(B)
    ]
    assert dense.tolist() == by_hand


@given(masks_and_positions(), st.data())
def test_for_every_mask_a_single_pair_can_be_asked(case, data):
    mask, (B, H, Lq, Lk), query_positions, key_positions = case
    dense = mask.mask.may_look(query_positions, key_positions).expand(B, H, Lq, Lk)
    b, h, i, j = at = [data.draw(st.integers(0, size - 1)) for size in (B, H, Lq, Lk)]
    p, q = query_positions.expand(B, Lq)[b, i], key_positions.expand(B, Lk)[b, j]
    assert bool(mask.mask.allows(Pairs(*map(torch.tensor, at), p, q))) == bool(dense[b, h, i, j])


def table(mask, length):
    return mask.may_look(torch.arange(length), torch.arange(length))[0, 0].int().tolist()


def test_a_writer_looks_at_itself_and_the_past():
    assert table(Mask.causal(), 3) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_a_window_includes_the_query_itself():
    assert table(Mask.window(1, 0), 4) == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert table(Mask.window(0, 0), 3) == torch.eye(3).int().tolist()
    assert table(Mask.window(None, None), 2) == [[1, 1], [1, 1]]


def test_a_prefix_sees_itself_and_the_rest_is_causal():
    assert table(Mask.prefix(2), 4) == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]


def test_padding_counts_keys_from_the_left():
    assert Mask.padding(torch.tensor([1, 3])).may_look(torch.arange(1), torch.arange(3)).int().tolist() == [
        [[[1, 0, 0]]],
        [[[1, 1, 1]]],
    ]


def test_look_back_and_always_at_the_first():
    first = Mask.keys(torch.arange(5)[None] < 1)
    assert table(Mask.window(1, 0) | first, 5) == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 0, 1, 1, 0],
        [1, 0, 0, 1, 1],
    ]


def test_behind_a_cache_causal_goes_by_the_real_positions():
    """Two new tokens, at 3 and 4, after three cached ones."""
    assert Mask.causal().may_look(torch.tensor([3, 4]), torch.arange(5))[0, 0].int().tolist() == [
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1],
    ]


def test_rows_with_padding_on_the_left_have_positions_of_their_own():
    positions = torch.tensor([[0, 1, 2], [-1, 0, 1]])  # the second row begins with a padding
    mask = Mask.causal() & Mask.keys(positions >= 0)
    assert mask.may_look(positions, positions)[:, 0].int().tolist() == [
        [[1, 0, 0], [1, 1, 0], [1, 1, 1]],
        [[0, 0, 0], [0, 1, 0], [0, 1, 1]],
    ]


# --- torch.nn's convention, the other way around ---------------------------------------------------------------------


@given(sizes, st.integers(0, 99))
def test_for_every_table_to_torch_nn_and_back_is_the_same(shape, seed):
    may_look = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    positions = torch.arange(shape[2]), torch.arange(shape[3])
    forbidden = Mask.dense(may_look).to_torch_nn(*positions, n_heads=shape[1])
    if shape[:2] == (1, 1):
        assert torch.equal(forbidden, ~may_look[0, 0])
    else:  # a row's heads one after the other
        assert torch.equal(forbidden, ~may_look.reshape(-1, *shape[2:]))
    assert torch.equal(Mask.from_torch_nn(forbidden, n_heads=shape[1]).may_look(*positions), may_look)


def test_heads_must_divide_torch_nns_tables():
    with pytest.raises(ValueError, match="3 tables, which 2 heads do not divide"):
        Mask.from_torch_nn(torch.zeros(3, 2, 2, dtype=torch.bool), n_heads=2)


def test_torch_nns_own_causal_mask_is_ours():
    theirs = torch.nn.Transformer.generate_square_subsequent_mask(4)  # 0 and -inf, to be added
    assert table(Mask.from_torch_nn(theirs), 4) == table(Mask.causal(), 4)
    assert table(Mask.from_torch_nn(theirs != 0), 4) == table(Mask.causal(), 4)


def test_torch_nns_padding_mask_is_true_where_there_is_padding():
    padding = torch.tensor([[False, True], [False, False]])
    keys = torch.arange(2)
    assert torch.equal(Mask.from_torch_nn(None, padding).may_look(keys, keys)[:, 0, 0], ~padding)
    added = torch.zeros(2, 2).masked_fill(padding, -torch.inf)
    assert torch.equal(Mask.from_torch_nn(None, added).may_look(keys, keys)[:, 0, 0], ~padding)
    both = Mask.from_torch_nn(torch.tensor([[False, True], [False, False]]), padding)
    assert both.may_look(keys, keys)[:, 0].int().tolist() == [[[1, 0], [1, 0]], [[1, 0], [1, 1]]]
    assert Mask.from_torch_nn() is None


def test_torch_nns_float_mask_may_not_be_a_bias():
    with pytest.raises(ValueError, match="a bias on the scores, not a mask"):
        Mask.from_torch_nn(torch.tensor([[0.0, -1.0]]))


# --- what does not fit -----------------------------------------------------------------------------------------------

YES = torch.ones(9, 9, 9, 9, dtype=torch.bool)


@pytest.mark.parametrize(
    "mask, message",
    [
        (lambda: Mask.dense(YES[0, 0, :3, :5]), "a mask for 3 queries meets 4"),
        (lambda: Mask.dense(YES[0, 0, :4, :7]), "a mask for 7 keys meets 5"),
        (lambda: Mask.dense(YES[0, :3, :4, :5]), "a mask for 3 rows meets 2"),
        (lambda: Mask.keys(YES[0, 0, :2, :6]), "a mask for 6 keys meets 5"),
        (lambda: Mask.keys(YES[0, 0, :3, :5]), "a mask for 3 rows meets 2"),
        (lambda: Mask.prefix(torch.tensor([1, 2, 3])), "a mask for 3 rows meets 2"),
        (lambda: Mask.causal() & Mask.padding(torch.tensor([1, 2]), 6), "a mask for 6 keys meets 5"),
        (lambda: Mask.keys(YES[0, 0, :2, :5]) & Mask.keys(YES[0, 0, :2, :8]), "a mask for 5 keys meets 8"),
        (lambda: Mask.keys(YES[0, 0, :2, :5]) | Mask.dense(YES[0, :4, :4, :5]), "a mask for 2 rows meets 4"),
        (lambda: Mask.dense(YES[:2, :2, :4, :5]) | Mask.dense(YES[:2, :3, :4, :5]), "a mask for 2 heads meets 3"),
    ],
)
def test_for_every_wrong_size_the_error_names_both(mask, message):
    with pytest.raises(ValueError, match=message):
        mask().may_look(torch.arange(4).expand(2, 4), torch.arange(5))


def test_rows_of_queries_and_of_keys_must_agree():
    with pytest.raises(ValueError, match="2 rows meets 3"):
        Mask.causal().may_look(torch.zeros(2, 4), torch.zeros(3, 5))


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Mask.window(-1, 0), "left=-1 is negative"),
        (lambda: Mask.window(None, -2), "right=-2 is negative"),
        (lambda: Mask.keys(torch.ones(2, 3)), r"takes bool \[B, Lk\], not torch.float32 \[2, 3\]"),
        (lambda: Mask.keys(YES[0, 0, 0]), r"takes bool \[B, Lk\], not torch.bool \[9\]"),
        (lambda: Mask.dense(torch.ones(2, 3)), "takes bool .*not torch.float32"),
        (lambda: Mask.dense(YES[0, 0, 0]), r"takes 2 to 4 dimensions.*not \[9\]"),
    ],
)
def test_what_is_no_mask_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
