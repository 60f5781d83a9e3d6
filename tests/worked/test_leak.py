"""Training without the mask: the loss collapses, and the writing is nonsense.

A toy language: every word has a translation, and the sentence is said backwards. The decoder is to say the
next word. If it may look ahead, the next word is there to be read, so nothing about the source has to be
learned; when it then writes for itself, nothing is there yet.
"""

import pytest
import torch
from torch.nn.functional import pad

from prosector.attention import Mask
from prosector.config.transformer import TransformerConfig
from prosector.training.loss import label_smoothed_cross_entropy

SOS, EOS, FIRST, WORDS, LENGTH = 2, 3, 4, 12, 5


def sentences(n):
    src = torch.randint(FIRST, FIRST + WORDS, (n, LENGTH))
    return src, ((src - FIRST + 3) % WORDS + FIRST).flip(1)


def train(mask, steps, position="learned"):
    """A small Transformer, and its loss after some steps."""
    model = TransformerConfig(
        source_vocab=FIRST + WORDS,
        target_vocab=FIRST + WORDS,
        d_model=32,
        d_ff=64,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.0,
        position=position,
    ).build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        src, tgt = sentences(64)
        hidden = model.decode(pad(tgt, (1, 0), value=SOS), model.encode(src), mask=mask)
        loss = label_smoothed_cross_entropy(model.logits(hidden), pad(tgt, (0, 1), value=EOS))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


@torch.no_grad()
def share_written_right(model, mask):
    """The model writes for itself, word by word, always the likeliest."""
    src, tgt = sentences(200)
    memory, written = model.encode(src), torch.full((200, 1), SOS)
    for _ in range(LENGTH):
        hidden = model.decode(written, memory, mask=mask)
        written = torch.cat([written, model.logits(hidden[:, -1:]).argmax(-1)], dim=1)
    return (written[:, 1:] == tgt).float().mean().item()


@pytest.mark.parametrize(
    "mask, learns_to_translate", [(Mask.causal(), True), (Mask.window(None, None), False)], ids=["mask", "no mask"]
)
def test_without_the_mask_the_loss_collapses_and_the_writing_is_nonsense(mask, learns_to_translate):
    model, loss = train(mask, steps=200)
    assert loss < 0.1  # what training shows is as good either way
    written_right = share_written_right(model, mask)
    assert written_right > 0.9 if learns_to_translate else written_right < 0.3


def test_the_loss_without_the_mask_falls_before_anything_can_be_learned():
    """After 50 steps the honest model still guesses, and the other reads every answer one place to its right."""
    (_, honest), (_, leaking) = (train(mask, 50, "rope") for mask in (Mask.causal(), Mask.window(None, None)))
    assert honest > 0.5
    assert leaking < 0.1
