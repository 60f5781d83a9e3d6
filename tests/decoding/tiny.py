"""Small models for these tests: random Transformers, and three that do one foreseeable thing."""

import itertools

import torch
from torch import nn

from prosector.attention import Cache
from prosector.config.transformer import TransformerConfig
from prosector.models.transformer import Transformer
from prosector.text.special import EOS, SOS


def tiny(seed=0, vocab=9, scale=2.0, **fields):
    """A random Transformer in float64, its weights scaled up so that it has opinions."""
    torch.manual_seed(seed)
    sizes = {"d_model": 16, "n_heads": 2, "d_ff": 24, "encoder_layers": 2, "decoder_layers": 2, "tie": "none"}
    config = TransformerConfig(**({"source_vocab": vocab, "target_vocab": vocab} | sizes | fields))
    model = config.build().double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
            weight *= scale
    return model


def no_stutter(source, written):
    """A rule that forbids the last two words, since random models like to go on and on with one."""
    return written[-2:]


def sources(lengths, vocab=9, seed=0):
    """Random sources of these lengths, ended by `<eos>` and padded."""
    torch.manual_seed(seed)
    src = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in zip(src, lengths, strict=True):
        row[:length] = torch.randint(4, vocab, (length,))
        row[length - 1] = EOS
    return src


def alone(src, row):
    """One source without its padding, [1, L]."""
    return src[row : row + 1, src[row] != 0]


@torch.inference_mode()
def log_p_of(model, src, ids, finished=True):
    """Σ log p of a target by one full forward pass, without a cache."""
    labels = ids + [EOS] * finished
    log_p = model(src, torch.tensor([[SOS, *labels[:-1]]]))[0].log_softmax(-1)
    return sum(log_p[position, token].item() for position, token in enumerate(labels))


@torch.inference_mode()
def every_target(model, src, max_length, vocab):
    """Every target of at most `max_length` tokens, and its Σ log p: all of one length by one full forward pass."""
    found = []
    for length in range(max_length + 1):
        targets = list(itertools.product(range(4, vocab), repeat=length))
        tgt = torch.tensor([[SOS, *ids] for ids in targets])
        labels = torch.tensor([[*ids, EOS] for ids in targets])
        log_p = model(src.expand(len(tgt), -1), tgt).log_softmax(-1).gather(-1, labels[..., None]).sum((1, 2))
        found += [(list(ids), total) for ids, total in zip(targets, log_p.tolist(), strict=True)]
    return found


class Tokens(Cache):
    """A cache that keeps the tokens only."""

    def __init__(self):
        super().__init__(0)
        self.tokens = None

    def __len__(self):
        return 0 if self.tokens is None else self.tokens.shape[1]

    def append(self, tokens):
        self.tokens = tokens if self.tokens is None else torch.cat([self.tokens, tokens], dim=1)
        return self.tokens

    def select(self, rows):
        self.tokens = self.tokens[rows]


class Forgetful(nn.Module):
    """A Transformer that reads everything from the beginning at every step: decoding without a cache."""

    def __init__(self, model: Transformer):
        super().__init__()
        self.model = model
        self.encode, self.logits = model.encode, model.logits

    def new_cache(self):
        return Tokens()

    def decode(self, tgt, memory, memory_real, cache):
        return self.model.decode(cache.append(tgt), memory, memory_real)


class Constant(nn.Module):
    """Always the same distribution over the next word, whatever came before."""

    def __init__(self, probabilities):
        super().__init__()
        self.log_p = nn.Parameter(torch.tensor(probabilities, dtype=torch.float64).log())

    def new_cache(self):
        return Tokens()

    def encode(self, src):
        return src

    def decode(self, tgt, memory, memory_real, cache):
        return cache.append(tgt)

    def logits(self, hidden):
        return self.log_p.expand(len(hidden), -1)


class Copyist(Constant):
    """Writes what it reads, token by token."""

    def __init__(self, vocab):
        super().__init__([1.0] * vocab)
        self.weight = nn.Parameter(torch.eye(vocab))  # it is also on a device

    def encode(self, src):
        return 20 * self.weight[src]  # [B, Ls, V]

    def decode(self, tgt, memory, memory_real, cache):
        return memory[:, [len(cache.append(tgt)[0]) - 1]]

    def logits(self, hidden):
        return hidden
