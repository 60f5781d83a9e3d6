"""Gaps: how many, what stands in them, and that nothing else changes."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.training.sentences import PAIRS

from prosector.config.reading import ReadingDataConfig
from prosector.data.masking import NOBODY, GapBatches, hide
from prosector.text.pieces import train_pieces

MASK = 99
texts = st.lists(st.integers(4, 98), min_size=1, max_size=40).map(lambda ids: [2, *ids, 3])


@given(texts, st.floats(0.05, 0.9), st.integers(0, 999))
def test_only_what_is_asked_for_changes_and_special_tokens_never_are(ids, share, seed):
    config = ReadingDataConfig(masked=share)
    reads, wanted = hide(ids, config, 99, MASK, np.random.default_rng(seed))
    asked = [place for place, id in enumerate(wanted) if id]
    assert len(asked) == max(1, round(share * (len(ids) - 2)))
    for place, id in enumerate(ids):
        if place in asked:
            assert wanted[place] == id >= 4
            assert reads[place] == MASK or 4 <= reads[place] < 99
        else:
            assert reads[place] == id
    assert (reads[0], reads[-1]) == (2, 3)


def test_of_many_gaps_eighty_per_cent_are_masked_and_ten_are_another_token():
    rng = np.random.default_rng(1)
    config, ids = ReadingDataConfig(), [2, *([7] * 2000), 3]
    found = [hide(ids, config, 99, MASK, rng) for _ in range(10)]
    asked = [read for reads, wanted in found for read, want in zip(reads, wanted, strict=True) if want]
    assert len(asked) == 3000
    assert abs(asked.count(MASK) / 3000 - 0.8) < 0.03
    assert abs(asked.count(7) / 3000 - 0.1) < 0.03


def batches(seed=1, **fields):
    texts = [side for pair in PAIRS for side in pair]
    tokenizer = train_pieces(texts, vocab_size=480)
    config = ReadingDataConfig(**{"batch_tokens": 300} | fields)
    return GapBatches([PAIRS[:40], PAIRS[40:]], [1.0, 0.5], tokenizer, config, seed), tokenizer


def test_an_epoch_is_a_function_of_its_number_and_its_gaps_are_elsewhere():
    made, _ = batches()
    which = made.epoch(0)[0]
    first, again, later = (made.batch(which, epoch) for epoch in (0, 0, 1))
    assert torch.equal(first.ids, again.ids)
    assert not torch.equal(first.wanted, later.wanted)
    assert sorted(i for batch in made.epoch(3) for i in batch if i < 40) == list(range(40))
    assert sum(i >= 40 for batch in made.epoch(3) for i in batch) == 12


def test_segments_pairs_torn_pairs_and_sentences_alone():
    made, tokenizer = batches(masked=0.01, alone=0.2)
    seen = []
    for epoch in range(8):
        for which in made.epoch(epoch):
            batch = made.batch(which, epoch)
            assert batch.ids.shape == batch.segments.shape == batch.wanted.shape
            for row, number in enumerate(which):
                ids = torch.where(batch.wanted[row] != 0, batch.wanted[row], batch.ids[row])
                first, second = (ids[(batch.segments[row] == s) & (ids > 3)].tolist() for s in (0, 1))
                side = made.pairs[number].index(first)
                belong = int(batch.belong[row])
                if belong == NOBODY:
                    assert not second
                else:
                    assert (second == made.pairs[number][1 - side]) == bool(belong)
                seen.append((belong, side))
    shares = [sum(belong == kind for belong, _ in seen) / len(seen) for kind in (NOBODY, 0, 1)]
    assert shares == pytest.approx([0.2, 0.4, 0.4], abs=0.08)
    assert 0.4 < sum(side for _, side in seen) / len(seen) < 0.6
    assert tokenizer.vocab_size == made.mask_id


def test_pairs_that_are_too_long_are_left_out_and_counted():
    lengths = sorted(len(a) + len(b) + 3 for a, b in batches()[0].pairs)
    limit = lengths[len(lengths) // 2]
    made, _ = batches(max_tokens=limit)
    assert made.dropped > 0
    assert made.dropped + len(made.pairs) == len(PAIRS)
    assert max(len(a) + len(b) + 3 for a, b in made.pairs) <= limit
