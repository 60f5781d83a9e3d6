"""The cache: what it keeps is what a plain list would, and attention with it is attention over everything."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import fewer, stirred

from prosector.attention import KERNELS, Cache, KeysValues, Mask, MultiHeadAttention, Scope
from prosector.positions import AlibiPosition, Position, RotaryPosition, T5Position, YarnPosition

# What a decoder does to its cache: append so many tokens, or keep these rows (as parts of the batch, 0 to 1).
operations = st.lists(
    st.integers(1, 20) | st.lists(st.floats(0, 1, exclude_max=True), min_size=1, max_size=5), min_size=1, max_size=8
)


@given(st.integers(1, 4), operations)
def test_for_every_history_a_cache_keeps_what_a_list_would(rows, history):
    kept = KeysValues()
    lists = [([], []) for _ in range(rows)]  # the keys and the values of each row, one tensor [Hkv, d] a token
    for operation in history:
        if isinstance(operation, int):
            key, value = torch.randn(len(lists), 2, operation, 3), torch.randn(len(lists), 2, operation, 5)
            for row, (keys, values) in enumerate(lists):
                keys.extend(key[row].unbind(1))
                values.extend(value[row].unbind(1))
            all_keys, all_values = kept.append(key, value)
            assert torch.equal(all_keys, kept.key)
            assert torch.equal(all_values, kept.value)
        else:
            chosen = [int(part * len(lists)) for part in operation]
            kept.select(torch.tensor(chosen))
            lists = [(list(lists[row][0]), list(lists[row][1])) for row in chosen]

        assert kept.length == len(lists[0][0])
        if kept.length:
            assert torch.equal(kept.key, torch.stack([torch.stack(keys, 1) for keys, _ in lists]))
            assert torch.equal(kept.value, torch.stack([torch.stack(values, 1) for _, values in lists]))


@given(st.integers(1, 4), operations, st.booleans())
def test_for_every_history_positions_follow_their_rows(rows, history, own):
    cache = Cache(n_layers=2)
    lists = [[] for _ in range(rows)]
    assert len(cache) == 0
    for operation in history:
        if isinstance(operation, int):
            start = len(lists[0])
            positions = torch.arange(start, start + operation)
            if own:  # each row its own, as with padding on the left
                positions = positions - torch.randint(0, 5, (len(lists), 1))
            for row, of_row in enumerate(positions.expand(len(lists), operation).tolist()):
                lists[row].extend(of_row)
            cache.extend(positions)
        else:
            chosen = [int(part * len(lists)) for part in operation]
            cache.select(torch.tensor(chosen))
            lists = [list(lists[row]) for row in chosen]
        assert len(cache) == len(lists[0])
        if len(cache):
            assert cache.positions.expand(len(lists), -1).tolist() == lists


def test_shared_positions_become_each_rows_own_when_one_differs():
    cache = Cache(n_layers=1)
    cache.extend(torch.arange(2))
    assert cache.extend(torch.tensor([[2], [7]])).tolist() == [[0, 1, 2], [0, 1, 7]]
    assert cache.extend(torch.tensor([9])).tolist() == [[0, 1, 2, 9], [0, 1, 7, 9]]
    cache.select(torch.tensor([1, 1, 0]))
    assert cache.positions.tolist() == [[0, 1, 7, 9], [0, 1, 7, 9], [0, 1, 2, 9]]


def test_selecting_rows_reaches_every_layer_of_both_attentions():
    cache = Cache(n_layers=2)
    for kept in cache.self_attention + cache.cross_attention:
        kept.append(torch.arange(3.0).view(3, 1, 1, 1), torch.arange(3.0).view(3, 1, 1, 1))
    cache.select(torch.tensor([2, 0]))
    for kept in cache.self_attention + cache.cross_attention:
        assert kept.key.flatten().tolist() == kept.value.flatten().tolist() == [2, 0]


def test_a_step_copies_nothing_until_the_room_is_full():
    """Room doubles, so a token costs its own column, and the earlier ones a copy now and then."""
    kept = KeysValues()
    rooms = set()
    for _ in range(200):
        kept.append(torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 1, 4))
        rooms.add(kept.key.data_ptr())
    assert len(rooms) <= 5


# --- attention with it -----------------------------------------------------------------------------------------------

POSITIONS = {
    "none": Position,
    "rope": lambda: RotaryPosition(4),
    "yarn": lambda: YarnPosition(4, factor=2.0, original_max_positions=8),
    "alibi": lambda: AlibiPosition(4),
    "t5": lambda: T5Position(4, bidirectional=False, num_buckets=8, max_distance=9),
}


@pytest.mark.parametrize("kernel, position", [(k, p) for k in KERNELS for p in POSITIONS if k != "flex" or p == "t5"])
@fewer
@given(chunks=st.lists(st.integers(1, 4), min_size=1, max_size=4), padded=st.booleans())
def test_for_all_chunks_attention_with_a_cache_is_attention_over_everything(kernel, position, chunks, padded):
    length = sum(chunks)
    position = POSITIONS[position]().double()
    attention = stirred(MultiHeadAttention(6, 4, d_head=4, n_kv_heads=2, kernel=KERNELS[kernel]).double())
    x = torch.randn(2, length, 6, dtype=torch.float64)
    positions = torch.arange(length)
    mask = Mask.causal()
    if padded:
        positions = positions - torch.tensor([[0], [1]])
        mask = mask & Mask.keys(positions >= 0)

    with torch.no_grad():
        scope = Scope(positions, positions, mask, position.bias(positions, positions), position.rotate)
        full = attention(x, x, scope)

        kept, start, written = KeysValues(), 0, []
        for size in chunks:
            end = start + size
            new, known = positions[..., start:end], positions[..., :end]
            part = Mask.causal() & Mask.keys(known >= 0) if padded else Mask.causal()
            scope = Scope(new, known, part, position.bias(new, known), position.rotate, new_key_positions=new)
            written.append(attention(x[:, start:end], x[:, start:end], scope, kept))
            start = end
    torch.testing.assert_close(torch.cat(written, dim=1), full, rtol=0, atol=1e-10)


def test_to_look_again_is_to_look_with_the_same_keys():
    attention = stirred(MultiHeadAttention(8, 2)).double()
    memory, kept = torch.randn(2, 5, 8).double(), KeysValues()
    x, y = torch.randn(2, 1, 8).double(), torch.randn(2, 3, 8).double()
    first = attention(x, memory, Scope(torch.arange(1), torch.arange(5)), kept)
    torch.testing.assert_close(first, attention(x, memory, Scope(torch.arange(1), torch.arange(5))), rtol=0, atol=0)
    again = attention.look_again(y, Scope(torch.arange(3), torch.arange(5)), kept)
    torch.testing.assert_close(again, attention(y, memory, Scope(torch.arange(3), torch.arange(5))), rtol=0, atol=1e-12)
    assert kept.length == 5
