"""Laws that hold for every position encoding: of padding, of the future, and of order."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import POSITIONS, assert_same, few, sentences, tiny

from prosector.attention import Mask

every_position = pytest.mark.parametrize("position", POSITIONS.values(), ids=POSITIONS)
every_placement = pytest.mark.parametrize("placement", ["pre", "post"])
every_norm = pytest.mark.parametrize("norm", ["layer", "rms", "batch"])
PAD = 0


def pad_right(ids, n):
    return torch.nn.functional.pad(ids, (0, n), value=PAD)


def pad_left(ids, n):
    return torch.nn.functional.pad(ids, (n, 0), value=PAD)


def positions_of(padded):
    """0, 1, 2, … from the first real token on; padding has position 0 too, which every encoding knows."""
    return (torch.cumsum(padded != PAD, dim=1) - 1).clamp(min=0)


# --- extra padding changes nothing -----------------------------------------------------------------------------------


@every_position
@every_placement
@few
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
def test_padding_on_the_right_changes_nothing(position, placement, source_length, target_length, more, still_more):
    model = tiny(position=position, norm_placement=placement)
    src, tgt = sentences(2, source_length), sentences(2, target_length)
    with torch.no_grad():
        plain = model(src, tgt)
        padded = model(pad_right(src, more), pad_right(tgt, still_more))[:, :target_length]
    assert_same(padded, plain, 1e-12)


@every_position
@few
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 3))
def test_padding_on_the_left_changes_nothing(position, source_length, target_length, more, still_more):
    """On the left it takes the real positions and, in the decoder, a mask."""
    model = tiny(position=position)
    src, tgt = sentences(2, source_length), sentences(2, target_length)
    padded_src, padded_tgt = pad_left(src, more), pad_left(tgt, still_more)
    with torch.no_grad():
        memory = model.encode(padded_src, positions_of(padded_src))
        assert_same(memory[:, more:], model.encode(src), 1e-12)
        mask = Mask.causal() & Mask.keys(padded_tgt != PAD)
        hidden = model.decode(padded_tgt, memory, padded_src != PAD, positions=positions_of(padded_tgt), mask=mask)
        assert_same(model.logits(hidden[:, still_more:]), model(src, tgt), 1e-12)


@every_placement
@every_norm
def test_padding_changes_nothing_in_training_either(placement, norm):
    """Gradients and, with batch norm, what is kept of the statistics: padding has no part in them."""
    src, tgt = sentences(2, 4), sentences(2, 5)
    results = []
    for more in (0, 3):
        torch.manual_seed(1)
        model = tiny(norm_placement=placement, norm=norm).train()
        (model(pad_right(src, more), pad_right(tgt, more))[:, :5].square()).sum().backward()
        results.append([p.grad for p in model.parameters()] + list(model.buffers()))
    for plain, padded in zip(*results, strict=True):
        torch.testing.assert_close(padded, plain, rtol=1e-9, atol=1e-9)


def test_what_a_neighbour_needs_of_padding_changes_nothing():
    """A short sentence beside a long one comes out as it does alone."""
    model = tiny()
    short, long = sentences(1, 2), sentences(1, 6)
    tgt = sentences(2, 3)
    with torch.no_grad():
        together = model(torch.cat([pad_right(short, 4), long]), tgt)
        assert_same(together[:1], model(short, tgt[:1]), 1e-12)
        assert_same(together[1:], model(long, tgt[1:]), 1e-12)


def test_a_source_of_padding_alone_gives_finite_numbers():
    model = tiny().train()
    logits = model(torch.tensor([[0, 0, 0], [5, 6, 7]]), sentences(2, 4))
    logits.square().sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters())


# --- no output depends on the future ---------------------------------------------------------------------------------


@every_position
@every_placement
def test_no_output_depends_on_the_future(position, placement):
    """The gradient of output t with respect to the embeddings after t is exactly zero, and of those up to t is not."""
    model = tiny(position=position, norm_placement=placement)
    memory, length = model.encode(sentences(2, 3)).detach(), 5
    x = torch.randn(2, length, 16, dtype=torch.float64, requires_grad=True)
    out = model.decoder(x, memory)
    wanted = torch.randn(16, dtype=torch.float64)
    for t in range(length):
        (gradient,) = torch.autograd.grad((out[:, t] * wanted).sum(), x, retain_graph=True)
        assert not gradient[:, t + 1 :].any()
        assert gradient[:, : t + 1].abs().amax(-1).min() > 0


@every_position
def test_every_encoding_of_a_source_depends_on_all_of_it(position):
    model = tiny(position=position)
    x = torch.randn(1, 4, 16, dtype=torch.float64, requires_grad=True)
    out = model.encoder(x)
    for t in range(4):
        (gradient,) = torch.autograd.grad(out[:, t].sum(), x, retain_graph=True)
        assert gradient.abs().amax(-1).min() > 0


@few
@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_for_every_change_of_a_later_word_the_earlier_outputs_keep_their_bits(source_length, target_length, data):
    model, src, tgt = tiny(), sentences(2, source_length), sentences(2, target_length)
    at = data.draw(st.integers(0, target_length - 1))
    other = tgt.clone()
    other[:, at] = (other[:, at] - 4 + 1) % 15 + 4
    with torch.no_grad():
        before, after = model(src, tgt), model(src, other)
    assert torch.equal(before[:, :at], after[:, :at])
    assert not torch.equal(before[:, at], after[:, at])


# --- order -----------------------------------------------------------------------------------------------------------

WO, AI, NI = 5, 6, 7  # 我 爱 你
I_LOVE_YOU, YOU_LOVE_ME = torch.tensor([[WO, AI, NI]]), torch.tensor([[NI, AI, WO]])


def test_without_positions_i_love_you_is_you_love_me():
    """Each word gets the same vector in both sentences: attention sees a set."""
    model = tiny(position="none")
    one, other = model.encode(I_LOVE_YOU), model.encode(YOU_LOVE_ME)
    assert_same(one, other.flip(1), 1e-12)


@pytest.mark.parametrize("position", [name for name in POSITIONS if name not in ("none", "alibi")])
def test_with_positions_i_love_you_is_not_you_love_me(position):
    model = tiny(position=POSITIONS[position])
    one, other = model.encode(I_LOVE_YOU), model.encode(YOU_LOVE_ME)
    assert (one - other.flip(1)).abs().amax(-1).max() > 1e-3


def test_alibi_knows_how_far_but_not_on_which_side():
    """In an encoder it cannot tell a sentence from its mirror image, and can from every other order."""
    model = tiny(position="alibi")
    assert_same(model.encode(I_LOVE_YOU), model.encode(YOU_LOVE_ME).flip(1), 1e-12)
    love_i_you = model.encode(I_LOVE_YOU[:, [1, 0, 2]])
    assert (model.encode(I_LOVE_YOU) - love_i_you[:, [1, 0, 2]]).abs().max() > 1e-3


@every_placement
@every_norm
@few
@given(st.permutations(range(6)))
def test_without_positions_permuting_the_input_permutes_the_output(placement, norm, order):
    model = tiny(position="none", norm_placement=placement, norm=norm)
    src = sentences(2, 6)
    with torch.no_grad():
        assert_same(model.encode(src[:, order]), model.encode(src)[:, order], 1e-12)
        # and a translation, which looks at the source as a set, does not change at all
        tgt = sentences(2, 3)
        assert_same(model(src[:, order], tgt), model(src, tgt), 1e-12)


@pytest.mark.parametrize("position", ["none", "alibi"])
def test_a_writer_knows_the_order_even_so(position):
    """The causal mask breaks the symmetry: what is said first sees less."""
    model, memory = tiny(position=position), torch.randn(1, 3, 16, dtype=torch.float64)
    one, other = model.decode(I_LOVE_YOU, memory), model.decode(YOU_LOVE_ME, memory)
    assert (one - other.flip(1)).abs().max() > 1e-3
