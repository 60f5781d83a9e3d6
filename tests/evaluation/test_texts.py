"""Bits a byte: against sums that one can do by hand, and equal for one long window and many short ones."""

import math

import pytest
import torch
from torch import nn

from prosector.config.gpt import GptConfig
from prosector.data.texts import stream_of
from prosector.evaluation.texts import bytes_of, surprise_at
from prosector.text.characters import train_characters

LINES = ["abba", "ab", "bbbbaaab", "a"]


class Uniform(nn.Module):
    """Every token is as likely as another."""

    def __init__(self, vocab):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(vocab))

    def forward(self, ids):
        return self.weight.expand(*ids.shape, -1)


def test_bytes_are_utf8_and_the_ends_of_lines():
    assert bytes_of(["我喜欢", "a"]) == 9 + 1 + 1 + 1


@pytest.mark.parametrize("context", [2, 3, 8, 100])
def test_a_model_that_knows_nothing_pays_the_same_for_every_token(context):
    """log₂ V bits a token, and here a character is a byte and a token."""
    tokenizer = train_characters(LINES, vocab_size=10)
    found = surprise_at(Uniform(tokenizer.vocab_size), LINES, tokenizer, context)
    assert found.n_tokens == found.n_bytes == 15 + len(LINES)
    assert found.bits_per_byte == pytest.approx(math.log2(tokenizer.vocab_size))
    assert found.perplexity == pytest.approx(tokenizer.vocab_size)


def test_in_one_window_it_is_the_log_p_of_the_whole_text():
    tokenizer = train_characters(LINES, vocab_size=10)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "layers": 1, "vocab": tokenizer.vocab_size}
    model = GptConfig(**sizes).build().eval()
    stream = stream_of(LINES, tokenizer)[None]
    with torch.no_grad():
        log_p = model(stream[:, :-1]).log_softmax(-1).gather(-1, stream[:, 1:, None]).sum().item()
    assert surprise_at(model, LINES, tokenizer, 100).nats == pytest.approx(-log_p, rel=1e-5)
