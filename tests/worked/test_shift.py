"""Shift and padding as taught: the decoder reads `<sos>` and the words before, and its label is the next word."""

import math

import pytest
import torch

from prosector.data.batching import collate
from prosector.text.words import train_words
from prosector.training.loss import label_smoothed_cross_entropy

ENGLISH, CHINESE = ["I like deep learning", "I like it"], ["我喜欢深度学习", "我喜欢它"]
WORDS = train_words(ENGLISH + CHINESE, vocab_size=20, own_words=["深度学习"])


def read(row):
    return " ".join(WORDS.piece(id).removeprefix("▁") for id in row.tolist())


def batch(source_eos=True):
    return collate(WORDS.encode_batch(CHINESE), WORDS.encode_batch(ENGLISH), source_eos)


def test_the_decoder_reads_what_comes_before_the_word_it_is_to_say():
    both = batch()
    assert read(both.tgt_in[0]) == "<sos> I like deep learning"
    assert read(both.labels[0]) == "I like deep learning <eos>"


def test_the_shorter_sentence_is_filled_up():
    both = batch()
    assert read(both.tgt_in[1]) == "<sos> I like it <pad>"
    assert read(both.labels[1]) == "I like it <eos> <pad>"
    assert both.n_tokens == 5 + 4


def test_the_source_ends_with_a_sign_or_not():
    assert [read(row) for row in batch().src] == ["我 喜欢 深度学习 <eos>", "我 喜欢 它 <eos>"]
    assert [read(row) for row in batch(source_eos=False).src] == ["我 喜欢 深度学习", "我 喜欢 它"]


def test_padding_never_counts_in_the_loss():
    """Whatever is said where the label is `<pad>`: nine labels count, and the tenth does not."""
    logits = torch.randn(2, 5, WORDS.vocab_size)
    loss = label_smoothed_cross_entropy(logits, batch().labels, 0.1)
    logits[1, 4] = 1000 * torch.randn(WORDS.vocab_size)
    assert label_smoothed_cross_entropy(logits, batch().labels, 0.1) == loss


def test_label_smoothing():
    """Four words, ε = 0.1, the second is right: q = 0.025, 0.925, 0.025, 0.025, and the loss is -Σ q ln p."""
    p = [0.1, 0.6, 0.2, 0.1]
    logits = torch.tensor(p).log()
    by_hand = -(0.025 * math.log(0.1) + 0.925 * math.log(0.6) + 0.025 * math.log(0.2) + 0.025 * math.log(0.1))
    assert label_smoothed_cross_entropy(logits, torch.tensor(1), 0.1).item() == pytest.approx(by_hand, abs=1e-6)
    assert label_smoothed_cross_entropy(logits, torch.tensor(1)).item() == pytest.approx(-math.log(0.6), abs=1e-6)
