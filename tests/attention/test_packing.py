"""Lines without their padding: there and back nothing is lost, and the way back is that of the padded batch."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.attention import functional
from prosector.attention.packing import FULL, Packing, merge_heads, padding_unwanted, split_heads, without_padding


@st.composite
def batches(draw):
    """Which tokens of some lines are real, at least one, in any order."""
    rows, length = draw(st.integers(1, 5)), draw(st.integers(1, 9))
    real = torch.tensor(draw(st.lists(st.booleans(), min_size=rows * length, max_size=rows * length)))
    real[draw(st.integers(0, rows * length - 1))] = True
    return real.view(rows, length)


@given(real=batches())
def test_packed_are_the_real_tokens_in_their_order_and_zeros_up_to_a_full_number(real):
    x = torch.randn(*real.shape, 3)
    packing = Packing(real)
    packed = packing.pack(x)
    count = int(real.sum())
    assert packed.shape[:2] == packing.real.shape
    assert packed.shape[1] % FULL == 0
    assert packed.shape[1] - count < FULL
    assert torch.equal(packed[0, :count], x[real])
    assert not packed[0, count:].any()
    assert packing.real.sum() == count
    assert packing.real[0, :count].all()


@given(real=batches())
def test_unpacked_they_stand_where_they_stood_and_padding_is_zeros(real):
    x = torch.randn(*real.shape, 3)
    packing = Packing(real)
    assert torch.equal(packing.unpack(packing.pack(x)), x * real[..., None])


@given(real=batches(), n_heads=st.integers(1, 3), d_head=st.integers(1, 3))
def test_heads_are_split_and_merged_as_those_of_the_padded_batch(real, n_heads, d_head):
    x = torch.randn(*real.shape, n_heads * d_head)
    packing = Packing(real)
    heads = split_heads(packing.pack(x), n_heads, packing)
    assert torch.equal(heads, functional.split_heads(x * real[..., None], n_heads))
    assert torch.equal(merge_heads(heads, packing), packing.pack(x))


@pytest.mark.parametrize("real, right", [([1, 1, 0], True), ([1, 1, 1], True), ([0, 1, 1], False), ([1, 0, 1], False)])
def test_padding_on_the_right_is_known(real, right):
    assert Packing(torch.tensor([[1, 1, 0], real]).bool()).on_the_right == right


def test_without_a_packing_they_are_split_as_they_are():
    x = torch.randn(2, 3, 4)
    heads = split_heads(x, 2, None)
    assert torch.equal(heads, functional.split_heads(x, 2))
    assert torch.equal(merge_heads(heads, None), x)


@given(real=batches())
def test_the_gradients_of_all_four_are_those_that_small_changes_show(real):
    packing, n_heads = Packing(real), 2
    size = packing.real.shape[1]
    padded = torch.randn(*real.shape, 4, dtype=torch.float64, requires_grad=True)
    packed = torch.randn(1, size, 4, dtype=torch.float64, requires_grad=True)
    heads = torch.randn(len(real), n_heads, real.shape[1], 2, dtype=torch.float64, requires_grad=True)
    for there, x in (
        (packing.pack, padded),
        (packing.unpack, packed),
        (lambda x: packing.split_heads(x, n_heads), packed),
        (packing.merge_heads, heads),
    ):
        assert torch.autograd.gradcheck(there, x)


def test_padding_is_unwanted_in_the_context_alone_even_after_a_mistake():
    def mistaken():
        with without_padding():
            assert padding_unwanted()
            return 1 / 0

    with pytest.raises(ZeroDivisionError):
        mistaken()
    assert not padding_unwanted()


def test_padding_can_be_wanted_again_inside():
    with without_padding():
        with without_padding(False):
            assert not padding_unwanted()
        assert padding_unwanted()
