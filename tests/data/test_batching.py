"""Batches: laws of what an epoch holds, of the budget, and of chance."""

from collections import Counter
from itertools import chain, pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.text.corpus import ENGLISH

from prosector.config.data import DataConfig
from prosector.data.batching import Batches, collate, pad, share
from prosector.data.corpus import Pair
from prosector.data.cutting import cut
from prosector.text.characters import CharacterTokenizer
from prosector.text.pieces import train_pieces

PAD, SOS, EOS = 0, 2, 3
LETTERS = CharacterTokenizer("abcdefgh")

words = st.text("abcdefgh", min_size=1, max_size=12)
corpora = st.lists(st.lists(st.builds(Pair, words, words), min_size=1, max_size=15), min_size=1, max_size=3)
budgets = st.integers(1, 60)


def batches(corpora, weights=None, seed=1, **fields):
    config = DataConfig(**{"batch_tokens": 30, "max_tokens": 100} | fields)
    return Batches(corpora, weights or [1.0] * len(corpora), LETTERS, LETTERS, config, seed)


def drawn(batches, epoch):
    """All examples of an epoch, in order."""
    return [example for batch in batches.epoch(epoch) for example in batch]


# --- what an epoch holds ---------------------------------------------------------------------------------------------


@given(corpora, budgets, st.integers(0, 9))
def test_every_example_is_met_once_an_epoch(corpora, budget, epoch):
    made = batches(corpora, batch_tokens=budget)
    assert sorted(drawn(made, epoch)) == list(range(sum(map(len, corpora))))


@given(corpora, st.integers(1, 3), st.integers(0, 9))
def test_a_whole_weight_is_how_often_each_is_met(corpora, weight, epoch):
    counts = Counter(drawn(batches(corpora, [float(weight)] + [1.0] * (len(corpora) - 1)), epoch))
    first = len(corpora[0])
    assert all(counts[example] == (weight if example < first else 1) for example in range(sum(map(len, corpora))))


@given(st.integers(1, 40), st.floats(0.01, 3.0), st.integers(0, 20), st.integers(0, 9))
def test_for_every_weight_an_epoch_takes_its_part_and_the_next_epochs_the_rest(size, weight, epoch, seed):
    """Over the epochs nobody is met more than once oftener than anybody else."""
    members = range(7, 7 + size)
    whole, part = int(weight), round(size * (weight % 1))
    part = max(part, 1) if weight < 1 else part
    counts = Counter(dict.fromkeys(members, 0))
    for number in range(epoch, epoch + 4):
        taken = share(members, weight, number, seed).tolist()
        assert len(taken) == whole * size + part
        once = Counter(taken)
        assert set(once.values()) <= {whole, whole + 1}
        counts.update(taken)
    assert max(counts.values()) - min(counts.values()) <= 1


@given(st.integers(1, 40), st.sampled_from([0.1, 0.25, 0.5, 0.7]), st.integers(0, 9))
def test_a_fraction_cycles_through_everything(size, weight, seed):
    part = round(size * weight)
    if part == 0:
        return  # such a corpus is too small for such a weight
    epochs = -(-size // part)
    met = {example for epoch in range(epochs) for example in share(range(size), weight, epoch, seed).tolist()}
    assert met == set(range(size))


def test_a_quarter_is_another_quarter_each_time():
    made = batches([[Pair("ab", "cd")] * 8], [0.25])
    quarters = [sorted(drawn(made, epoch)) for epoch in range(5)]
    assert all(len(quarter) == 2 for quarter in quarters)
    assert sorted(chain.from_iterable(quarters[:4])) == list(range(8))
    assert quarters[4] == quarters[0]


# --- the budget ------------------------------------------------------------------------------------------------------


@given(corpora, budgets, st.booleans(), st.integers(0, 3))
def test_no_batch_exceeds_the_budget_unless_it_is_one_long_pair(corpora, budget, source_eos, epoch):
    made = batches(corpora, batch_tokens=budget, source_eos=source_eos)
    for examples in made.epoch(epoch):
        batch = made.batch(examples, epoch)
        size = max(batch.src.numel(), batch.tgt_in.numel(), batch.labels.numel())
        assert size <= budget or len(examples) == 1


@given(st.lists(st.integers(1, 20), min_size=1), budgets)
def test_a_cut_loses_nothing_and_is_as_long_as_the_budget_allows(lengths, budget):
    lengths.sort()
    order = list(range(len(lengths)))
    made = cut(lengths, order, budget)
    assert list(chain.from_iterable(made)) == order
    for batch, following in pairwise(made):
        longest = max(lengths[example] for example in [*batch, following[0]])
        assert (len(batch) + 1) * longest > budget  # one more would not have fitted


def test_a_batch_holds_pairs_of_like_length():
    made = batches([[Pair("a" * n, "b" * n) for n in (1, 9, 2, 8, 1, 9, 2, 8)]], batch_tokens=20)
    lengths = [sorted(len(made.sources[example]) for example in batch) for batch in made.epoch(0)]
    assert sorted(lengths) == [[1, 1, 2, 2], [8, 8], [9, 9]]


def test_pairs_that_are_too_long_are_dropped_and_counted():
    made = batches([[Pair("a" * 9, "b"), Pair("a", "b" * 9), Pair("a" * 8, "b" * 8)]], max_tokens=9)
    assert made.dropped == 2
    assert made.texts == ["a" * 8]


def test_where_nothing_is_left_the_limit_is_named():
    with pytest.raises(ValueError, match="max_tokens=3"):
        batches([[Pair("aaaa", "b")]], max_tokens=3)


# --- chance ----------------------------------------------------------------------------------------------------------


@given(corpora, st.integers(0, 99), st.integers(0, 99))
def test_an_epoch_is_a_function_of_the_seed_and_its_number_alone(corpora, seed, epoch):
    """So a run can go on from any batch: whatever was drawn before, and however often, changes nothing."""
    first, second = batches(corpora, seed=seed), batches(corpora, seed=seed)
    first.epoch(epoch + 1), torch.rand(3)
    assert first.epoch(epoch) == second.epoch(epoch) == second.epoch(epoch)


def test_another_seed_and_another_epoch_are_another_order():
    pairs = [[Pair("ab" * (n % 5 + 1), "cd") for n in range(60)]]
    orders = [batches(pairs, seed=seed).epoch(epoch) for seed in (1, 2) for epoch in (0, 1)]
    assert all(one != other for number, one in enumerate(orders) for other in orders[:number])


# --- tensors ---------------------------------------------------------------------------------------------------------

rows = st.lists(st.lists(st.integers(4, 99), min_size=1, max_size=6), min_size=1, max_size=4)


@given(rows, st.booleans(), st.data())
def test_for_every_batch_labels_are_what_the_decoder_reads_one_step_later(targets, source_eos, data):
    sources = data.draw(
        st.lists(st.lists(st.integers(4, 99), min_size=1), min_size=len(targets), max_size=len(targets))
    )
    batch = collate(sources, targets, source_eos)
    assert batch.tgt_in.shape == batch.labels.shape
    for source, target, src, tgt_in, labels in zip(
        sources, targets, batch.src.tolist(), batch.tgt_in.tolist(), batch.labels.tolist(), strict=True
    ):
        n = len(target)
        assert tgt_in[: n + 1] == [SOS, *target]
        assert labels[: n + 1] == [*target, EOS]
        assert tgt_in[1 : n + 1] == labels[:n]  # shifted by one
        assert set(tgt_in[n + 1 :]) | set(labels[n + 1 :]) <= {PAD}
        read = [*source, EOS] if source_eos else source
        assert src == read + [PAD] * (batch.src.shape[1] - len(read))
    assert batch.n_tokens == (batch.labels != PAD).sum()


@given(rows)
def test_padding_fills_up_to_the_longest(lists):
    table = pad(lists)
    assert table.dtype == torch.long
    assert table.shape == (len(lists), max(map(len, lists)))
    assert [[id for id in row if id != PAD] for row in table.tolist()] == lists


def test_no_rows_are_an_empty_table():
    assert pad([]).shape == (0, 0)


# --- sampling --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pieces():
    return train_pieces(ENGLISH, vocab_size=400, language="en")


def sampling(pieces, seed=1, alpha=0.1):
    config = DataConfig(sampling=alpha, batch_tokens=200)
    return Batches([[Pair(text, text) for text in ENGLISH]], [1.0], pieces, pieces, config, seed)


def test_a_sampled_source_is_a_function_of_seed_epoch_and_example_and_reads_the_same(pieces):
    one, again, other = sampling(pieces), sampling(pieces), sampling(pieces, seed=2)
    cuts = [
        [made.source_ids(n, epoch) for n in range(len(ENGLISH))] for made, epoch in ((one, 0), (one, 1), (other, 0))
    ]
    again.source_ids(5, 7)
    assert cuts[0] == [again.source_ids(n, 0) for n in reversed(range(len(ENGLISH)))][::-1]
    assert cuts[0] != cuts[1]
    assert cuts[0] != cuts[2]
    assert all(pieces.decode(ids) == text for sampled in cuts for ids, text in zip(sampled, ENGLISH, strict=True))


def test_targets_are_never_sampled(pieces):
    made = sampling(pieces)
    batch = made.batch(range(4), epoch=3)
    assert batch.labels.tolist() == collate([[1]], [pieces.encode(text) for text in ENGLISH[:4]], True).labels.tolist()


def test_only_a_unigram_vocabulary_can_be_sampled():
    with pytest.raises(ValueError, match=r"data\.sampling needs a unigram tokenizer"):
        batches([[Pair("a", "b")]], sampling=0.1)


def test_a_small_corpus_of_small_weight_still_has_its_turn():
    """Ten pairs at weight 0.04 are 0.4 of a pair an epoch; one is taken, the next one in the next epoch."""
    taken = [share(range(10), 0.04, epoch, seed=1).tolist() for epoch in range(10)]
    assert all(len(part) == 1 for part in taken)
    assert sorted(i for part in taken for i in part) == list(range(10))
