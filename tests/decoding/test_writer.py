"""A text that goes on: as a stream, from the model's distribution, beyond what it can read at once."""

import pytest
import torch
from torch import nn

from prosector.attention import Cache
from prosector.config.folder import WriterFolder
from prosector.config.gpt import GptConfig
from prosector.decoding.writer import TextWriter
from prosector.text.characters import train_characters
from prosector.text.pieces import train_pieces
from prosector.text.special import EOS

LINES = ["我喜欢猫。", "你喜欢狗。", "我们看见鸟。"]


def writer(tokenizer, context=32, **fields):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "layers": 2, "vocab": tokenizer.vocab_size}
    config = GptConfig(**sizes | fields)
    return TextWriter(WriterFolder(context=context, model=config), config.build(), tokenizer)


class Told(nn.Module):
    """Writes what it was told, token by token, after whatever beginning."""

    def __init__(self, tokens, vocab):
        super().__init__()
        self.tokens, self.vocab = list(tokens), vocab
        self.weight = nn.Parameter(torch.zeros(()))

    def new_cache(self):
        return Cache(0)

    def hidden(self, ids, cache):
        cache.extend(torch.arange(len(cache), len(cache) + ids.shape[1]))
        return ids

    def logits(self, hidden):
        scores = torch.zeros(1, self.vocab)
        scores[0, self.tokens.pop(0)] = 100.0
        return scores


def test_characters_come_whole_though_their_bytes_are_tokens():
    """鸟 is in no piece of this vocabulary: it is three bytes, and appears when the third is there."""
    tokenizer = train_pieces(["abc abd acd"] * 3, vocab_size=400)
    ids = tokenizer.encode("a 鸟b")
    told = writer(tokenizer)
    told.model = Told([*ids, EOS], tokenizer.vocab_size)
    bits = [bit for bit in told.stream("", temperature=0) if bit]
    assert "".join(bits) == "a 鸟b\n"
    assert all("\ufffd" not in bit for bit in bits)
    assert any(bit == "鸟" for bit in bits)


def test_a_word_that_follows_keeps_its_space():
    tokenizer = train_pieces(["I like cats", "I like dogs"] * 3, vocab_size=400)
    beginning, whole = "I like", "I like cats"
    assert tokenizer.encode(whole)[: len(tokenizer.encode(beginning))] == tokenizer.encode(beginning)
    told = writer(tokenizer)
    told.model = Told([*tokenizer.encode(whole)[len(tokenizer.encode(beginning)) :], EOS], tokenizer.vocab_size)
    assert beginning + told.write(beginning, temperature=0) == whole


@pytest.mark.parametrize("n_lines", [1, 2, 3])
def test_it_stops_after_so_many_lines(n_lines):
    tokenizer = train_characters(LINES, vocab_size=30)
    told = writer(tokenizer)
    told.model = Told([id for line in LINES for id in [*tokenizer.encode(line), EOS]], tokenizer.vocab_size)
    assert "".join(told.stream("", n_lines=n_lines, temperature=0)) == "".join(f"{line}\n" for line in LINES[:n_lines])


def test_a_beginning_and_a_seed_give_the_same_again_and_another_seed_another():
    model = writer(train_characters(LINES, vocab_size=30))
    texts = [model.write("我", max_tokens=30, n_lines=9, seed=seed) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    assert len(texts[0]) > 4


@pytest.mark.parametrize("position", ["sinusoidal", "rope", {"kind": "learned", "max_length": 8}])
def test_each_token_has_the_scores_of_one_pass_over_what_it_can_read(position):
    """With a cache it is as without, and beyond the context it reads the later half and what came since."""
    model = writer(train_characters(LINES, vocab_size=30), context=8, position=position)
    ids = [EOS, 5, 6]
    scores = model.scores(ids)
    start = 0  # the first token that is still read
    for _ in range(20):
        if len(ids) - start > 8:
            start = len(ids) - 4
        torch.testing.assert_close(next(scores), alone(model, ids[start:]), rtol=0, atol=1e-5)
        ids.append(5 + len(ids) % 7)
    assert start > 10


@torch.no_grad()
def alone(model, ids):
    logits = model.model(torch.tensor([ids]))[:, -1]
    logits[:, [0, 1, 2]] = -torch.inf
    return logits.log_softmax(-1)


def test_top_k_of_one_is_the_likeliest():
    model = writer(train_characters(LINES, vocab_size=30))
    options = {"max_tokens": 20, "n_lines": 9}
    assert model.write("我", top_k=1, **options) == model.write("我", temperature=0, **options)
    assert model.write("我", top_p=1e-9, seed=3, **options) == model.write("我", temperature=0, **options)
