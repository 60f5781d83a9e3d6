"""The translators before the Transformer: their laws, and what they write once they are trained, in float64."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.tiny import alone, log_p_of
from tests.helpers import sentences, stirred

from prosector.config.recurrent import RnnAttentionConfig, RnnConfig
from prosector.decoding import beam_search, greedy
from prosector.observe import observe
from prosector.text.special import EOS, SOS
from prosector.training.loss import label_smoothed_cross_entropy

SIZES = {"source_vocab": 23, "target_vocab": 19, "d_model": 12, "d_hidden": 16, "dropout": 0.0}
KINDS = {
    "rnn": lambda **fields: RnnConfig(**SIZES | fields),
    "rnn, context once": lambda **fields: RnnConfig(**SIZES | {"context_at_every_step": False} | fields),
    "rnn-attention": lambda **fields: RnnAttentionConfig(
        **SIZES | {"d_attention": 8, "encoder_layers": 2, "decoder_layers": 2} | fields
    ),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_cell = pytest.mark.parametrize("cell", ["lstm", "gru"])


def tiny(kind, **fields):
    return stirred(KINDS[kind](**fields).build().double()).eval()


@every_kind
@every_cell
@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_before_training_every_word_is_as_likely_as_another(kind, cell, tie):
    model = KINDS[kind](cell=cell, tie=tie, source_vocab=2000, target_vocab=2000, d_model=64, d_hidden=128).build()
    tgt = sentences(8, 17, 2000)
    with torch.no_grad():
        logits = model(sentences(8, 12, 2000), tgt[:, :-1])
    assert label_smoothed_cross_entropy(logits, tgt[:, 1:]).item() == pytest.approx(math.log(2000), rel=0.05)
    tables = (model.source_embedding.weight, model.target_embedding.weight, model.output.weight)
    assert len({id(table) for table in tables}) == {"none": 3, "target": 2, "all": 1}[tie]


@every_kind
@every_cell
@pytest.mark.parametrize("chunks", [[1] * 6, [2, 4], [6], [3, 1, 2]])
def test_with_a_cache_it_computes_the_same(kind, cell, chunks):
    model, src, tgt = tiny(kind, cell=cell), sentences(3, 5), sentences(3, 6)
    src[1, 3:] = 0
    with torch.no_grad():
        memory, cache = model.encode(src), model.new_cache()
        parts = [model.decode(part, memory, src != 0, cache) for part in tgt.split(chunks, dim=1)]
        torch.testing.assert_close(model.logits(torch.cat(parts, dim=1)), model(src, tgt), rtol=0, atol=1e-12)
    assert len(cache) == 6


@every_kind
@every_cell
def test_no_output_depends_on_the_future(kind, cell):
    model, src, tgt = tiny(kind, cell=cell), sentences(2, 5), sentences(2, 6)
    other = tgt.clone()
    other[:, 4:] = 7
    logits, others = model(src, tgt), model(src, other)
    torch.testing.assert_close(logits[:, :4], others[:, :4], rtol=0, atol=0)
    assert (logits[:, 4:] != others[:, 4:]).any()


@every_kind
def test_every_value_has_its_tap(kind):
    model = tiny(kind)
    src = sentences(2, 5)
    src[1, 2:] = 0
    with torch.no_grad(), observe(model) as seen:
        model(src, sentences(2, 3))
    assert {"logits", "hidden", "source_embedding", "target_embedding"} < set(seen)
    if kind == "rnn-attention":
        assert len(seen.steps("attention.weights")) == 3  # a step each
        for weights in seen.steps("attention.weights"):
            assert weights.shape == (2, 1, 5)
            assert (weights[1, :, 2:] == 0).all()
    else:
        assert seen["state"].shape == (2, 4, 16)


@every_kind
def test_an_edit_of_what_is_kept_of_the_source_changes_what_is_written(kind):
    model, src, tgt = tiny(kind), sentences(2, 5), sentences(2, 3)
    with torch.no_grad(), observe(model) as seen:
        seen.edit("memory" if kind == "rnn-attention" else "state", lambda memory: memory.flip(0))
        edited = model(src, tgt)
    swapped = model(src.flip(0), tgt)
    if kind != "rnn-attention":  # whose padding and first state come from the source itself
        torch.testing.assert_close(edited, swapped, rtol=0, atol=1e-12)
    assert (edited - model(src, tgt)).abs().max() > 1e-3


def test_the_context_at_every_step_is_one_more_input():
    assert tiny("rnn").decoder.cells.input_size == 12 + 16
    assert tiny("rnn, context once").decoder.cells.input_size == 12


# --- trained ---------------------------------------------------------------------------------------------------------

FIRST, WORDS, LONGEST = 4, 6, 5


def toy_pairs(n, generator):
    """Words said backwards, each by its neighbour: lengths from 1 to 5."""
    src, tgt = torch.zeros(n, LONGEST + 1, dtype=torch.long), torch.zeros(n, LONGEST + 2, dtype=torch.long)
    for row, length in enumerate(torch.randint(1, LONGEST + 1, (n,), generator=generator).tolist()):
        words = torch.randint(0, WORDS, (length,), generator=generator)
        src[row, : length + 1] = torch.cat([words + FIRST, torch.tensor([EOS])])
        tgt[row, : length + 2] = torch.cat(
            [torch.tensor([SOS]), (words.flip(0) + 1) % WORDS + FIRST, torch.tensor([EOS])]
        )
    return src, tgt


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    """A model that has learned the toy language for the greater part, in float64."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    vocab = {"source_vocab": FIRST + WORDS, "target_vocab": FIRST + WORDS}
    model = KINDS[request.param](
        **vocab, d_hidden=48, d_model=24, cell="gru", **{"layers": 1} if "att" not in request.param else {}
    ).build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(250):
        src, tgt = toy_pairs(64, generator)
        loss = label_smoothed_cross_entropy(model(src, tgt[:, :-1]), tgt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.double().eval()


def test_it_learns(trained):
    src, tgt = toy_pairs(200, torch.Generator().manual_seed(1))
    right = [
        found.ids == row[1:][row[1:] > EOS].tolist() for found, row in zip(greedy(trained, src, 9), tgt, strict=True)
    ]
    assert sum(right) > 120


def test_a_source_in_a_batch_is_translated_as_it_is_alone(trained):
    src, _ = toy_pairs(24, torch.Generator().manual_seed(2))
    for decode in (
        lambda s: [[one] for one in greedy(trained, s, 9)],
        lambda s: beam_search(trained, s, 9, beam=4, n_best=3),
    ):
        for row, found in enumerate(decode(src)):
            [by_itself] = decode(alone(src, row))
            assert [one.ids for one in by_itself] == [one.ids for one in found]
            assert [one.log_p for one in by_itself] == pytest.approx([one.log_p for one in found], abs=1e-12)


def test_a_hypothesis_has_the_log_p_of_one_pass_without_a_cache(trained):
    src, _ = toy_pairs(12, torch.Generator().manual_seed(3))
    for row, several in enumerate(beam_search(trained, src, 9, beam=4, n_best=4)):
        for found in several:
            assert found.log_p == pytest.approx(log_p_of(trained, alone(src, row), found.ids, found.finished), abs=1e-9)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 99))
def test_for_every_padding_nothing_changes(trained, left, right, seed):
    src, tgt = toy_pairs(6, torch.Generator().manual_seed(seed))
    padded = torch.nn.functional.pad(src, (left, right))
    with torch.no_grad():
        torch.testing.assert_close(trained(padded, tgt), trained(src, tgt), rtol=0, atol=1e-12)
