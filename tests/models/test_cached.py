"""Decoding with a cache equals the full forward pass: chunk by chunk, for every position, placement and norm."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import POSITIONS, assert_same, few, sentences, tiny
from torch.nn.attention import flex_attention

from prosector.attention import Mask

every_position = pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)
every_placement = pytest.mark.parametrize("placement", ["pre", "post"])
every_norm = pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
chunks_of = st.lists(st.integers(1, 4), min_size=1, max_size=4)
PAD = 0


def chunk_by_chunk(model, tgt, memory, real, sizes, positions=None):
    """The decoder's vectors, some tokens at a time; with positions, padding is masked as it must be."""
    cache, start, written = model.new_cache(), 0, []
    for size in sizes:
        end = start + size
        mask = None if positions is None else Mask.causal() & Mask.keys(tgt[:, :end] != PAD)
        of_chunk = None if positions is None else positions[:, start:end]
        written.append(model.decode(tgt[:, start:end], memory, real, cache, of_chunk, mask))
        start = end
        assert len(cache) == end
    return torch.cat(written, dim=1)


@every_position
@every_placement
@every_norm
@few
@given(sizes=chunks_of)
def test_for_all_chunks_cached_equals_full(position, placement, norm, sizes):
    model = tiny(position=position, norm_placement=placement, norm=norm, encoder_layers=1)
    src, tgt = sentences(2, 4), sentences(2, sum(sizes))
    src[0, 3] = PAD
    with torch.no_grad():
        memory = model.encode(src)
        full = model.decode(tgt, memory, src != PAD)
        assert_same(chunk_by_chunk(model, tgt, memory, src != PAD, sizes), full, 1e-10)


@every_position
@every_placement
@few
@given(sizes=chunks_of, padding=st.integers(0, 3))
def test_with_padding_on_the_left_too(position, placement, sizes, padding):
    """The second row begins later; each row's real tokens come out as they would alone."""
    model = tiny(position=position, norm_placement=placement, encoder_layers=1)
    length = sum(sizes)
    padding = min(padding, length - 1)
    src, tgt = sentences(2, 4), sentences(2, length)
    tgt[1, :padding] = PAD
    positions = (torch.arange(length) - torch.tensor([[0], [padding]])).clamp(min=0)
    with torch.no_grad():
        memory = model.encode(src)
        cached = chunk_by_chunk(model, tgt, memory, src != PAD, sizes, positions)
        for row, begin in ((0, 0), (1, padding)):
            alone = model.decode(tgt[row : row + 1, begin:], memory[row : row + 1])
            assert_same(cached[row : row + 1, begin:], alone, 1e-10)


@pytest.mark.parametrize("fields", [{"n_kv_heads": 1}, {"n_kv_heads": 2, "d_head": 6}, {"kernel": "written-out"}])
def test_with_shared_key_heads_and_the_other_kernel_too(fields):
    model = tiny(position="rope", **fields)
    src, tgt = sentences(2, 4), sentences(2, 6)
    with torch.no_grad():
        memory = model.encode(src)
        full = model.decode(tgt, memory, src != PAD)
        cached = chunk_by_chunk(model, tgt, memory, src != PAD, [1, 2, 3])
    assert_same(cached, full, 1e-10)


def test_by_flex_attention_too(monkeypatch):
    monkeypatch.setattr(flex_attention, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)  # which only saves time
    model = tiny(torch.float32, position="alibi", kernel="flex", decoder_layers=1, encoder_layers=1)
    src, tgt = sentences(2, 3), sentences(2, 3)
    with torch.no_grad():
        memory = model.encode(src)
        full = model.decode(tgt, memory, src != PAD)
        cached = chunk_by_chunk(model, tgt, memory, src != PAD, [2, 1])
    assert_same(cached, full, 1e-5)


@every_position
@few
@given(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.lists(st.integers(0, 99), min_size=4, max_size=4))
def test_for_every_choice_of_rows_a_cache_goes_on_as_if_they_had_been_alone(position, first, second):
    """What beam search does: rows are dropped, doubled and reordered between steps."""
    model = tiny(position=position, encoder_layers=1)
    src, tgt = sentences(3, 4), sentences(3, 2)
    with torch.no_grad():
        memory, cache = model.encode(src), model.new_cache()
        model.decode(tgt, memory, src != PAD, cache)
        for choice in (first, second):
            rows = torch.tensor([c % len(tgt) for c in choice])
            cache.select(rows)
            src, memory, tgt = src[rows], memory[rows], tgt[rows]
            new = sentences(len(tgt), 1)
            tgt = torch.cat([tgt, new], dim=1)
            stepped = model.decode(new, memory, src != PAD, cache)
            assert_same(stepped, model.decode(tgt, memory, src != PAD)[:, -1:], 1e-10)


def test_the_memory_is_read_in_the_first_step_and_never_again():
    """So its keys are computed once: what is handed in later changes nothing."""
    model = tiny()
    src, tgt = sentences(2, 4), sentences(2, 2)
    with torch.no_grad():
        memory, cache = model.encode(src), model.new_cache()
        model.decode(tgt[:, :1], memory, None, cache)
        stepped = model.decode(tgt[:, 1:], torch.full_like(memory, 9.0), None, cache)
        assert_same(stepped, model.decode(tgt, memory)[:, 1:], 1e-10)
