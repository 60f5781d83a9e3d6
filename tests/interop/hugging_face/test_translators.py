"""Marian and T5 read as ours: the same logits, states and weights, the same words."""

import json

import pytest
import torch
from safetensors.torch import save_file
from tests.interop.hugging_face.theirs import TRANSLATORS, near, rows, saved, stirred

from prosector.decoding.beam import beam_search
from prosector.decoding.greedy_search import greedy
from prosector.decoding.refilling import RefillingBeam
from prosector.interop.hugging_face import from_hugging_face
from prosector.observe import observe


@pytest.fixture(scope="module", params=TRANSLATORS)
def pair(request, tmp_path_factory):
    """One of theirs, and ours as read from its folder."""
    folder = tmp_path_factory.mktemp("translator")
    theirs = saved(TRANSLATORS[request.param], folder)
    return theirs, from_hugging_face(folder)


def inputs(side="right"):
    """Sources with padding on a side, and targets that begin as targets do."""
    src, real = rows((25, 9, 2), side)
    tgt = torch.cat([torch.full((3, 1), 3), rows((23,) * 3, n_words=30)[0]], dim=1)
    return src, real, tgt


@pytest.mark.parametrize("side", ["right", "left"])
def test_logits_are_equal_wherever_padding_stands(pair, side):
    theirs, ours = pair
    src, real, tgt = inputs(side)
    with torch.no_grad():
        wanted = theirs(input_ids=src, attention_mask=real.long(), decoder_input_ids=tgt).logits
        assert near(ours(src, tgt), wanted)


@pytest.mark.parametrize("step", [1, 7])
def test_with_a_cache_they_are_equal_too(pair, step):
    theirs, ours = pair
    src, real, tgt = inputs()
    cache = ours.new_cache()
    with torch.no_grad():
        wanted = theirs(input_ids=src, attention_mask=real.long(), decoder_input_ids=tgt).logits
        memory = ours.encode(src)
        found = [ours.logits(ours.decode(new, memory, real, cache)) for new in tgt.split(step, dim=1)]
    assert near(torch.cat(found, dim=1), wanted)


def test_hidden_states_and_attention_weights_are_equal(pair):
    theirs, ours = pair
    src, real, tgt = inputs()
    with torch.no_grad(), observe(ours) as seen:
        ours(src, tgt)
        wanted = theirs(
            input_ids=src,
            attention_mask=real.long(),
            decoder_input_ids=tgt,
            output_hidden_states=True,
            output_attentions=True,
        )
    for mine, other in zip(["input", "0"], wanted.encoder_hidden_states, strict=False):
        assert near(seen[f"encoder.{mine}"][real], other[real])
    assert near(seen["encoder"][real], wanted.encoder_last_hidden_state[real])
    assert near(seen["decoder.input"], wanted.decoder_hidden_states[0])
    assert near(seen["decoder"], wanted.decoder_hidden_states[-1])
    weights = seen["encoder.1.attention.weights"].transpose(1, 2)[real]
    assert near(weights, wanted.encoder_attentions[1].transpose(1, 2)[real])
    assert near(seen["decoder.0.self.weights"], wanted.decoder_attentions[0])
    assert near(seen["decoder.0.cross.weights"], wanted.cross_attentions[0])


def translated(theirs, ours, src, real, n, forbidden=(), **options):
    """What theirs writes, token by token; what ours never writes is forbidden it too."""
    never = [*ours.config.special.unwritten, *forbidden]
    with torch.no_grad():
        found = theirs.generate(
            src, attention_mask=real.long(), max_new_tokens=n, do_sample=False, suppress_tokens=never, **options
        )
    return [[id for id in row if id not in (2, 3)] for row in found[:, 1:].tolist()]


def test_greedy_writes_the_same_words(pair):
    theirs, ours = pair
    src, real, _ = inputs()
    assert [each.ids for each in greedy(ours, src, 20)] == translated(theirs, ours, src, real, 20)


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_a_beam_of_three_writes_the_same_words(pair, alpha):
    """Whether or not some end early: in the beam that is refilled, as theirs is."""
    theirs, ours = pair
    src, real, _ = inputs()
    found = beam_search(ours, src, 20, beam=3, alpha=alpha, kind=RefillingBeam)
    wanted = translated(theirs, ours, src, real, 20, num_beams=3, length_penalty=alpha, early_stopping=True)
    assert [each[0].ids for each in found] == wanted


def test_our_own_beam_of_three_writes_the_same_words_too(pair):
    """Of one length: what is finished keeps its place in our beam, and makes room for another in theirs."""
    theirs, ours = pair
    src, real, _ = inputs()
    found = beam_search(ours, src, 12, beam=3, rule=lambda *_: [2])
    wanted = translated(theirs, ours, src, real, 12, forbidden=[2], num_beams=3, length_penalty=1.0)
    assert [each[0].ids for each in found] == wanted


def test_t5_may_have_an_output_of_its_own(tmp_path):
    """Version 1.1 as it lies on the Hub; their library of today ties what it makes itself."""
    theirs = stirred(TRANSLATORS["t5, gated"]())
    theirs.lm_head.weight = torch.nn.Parameter(0.5 * torch.randn(40, 24))
    weights = {name: value.clone() for name, value in theirs.state_dict().items() if "embed_tokens" not in name}
    save_file(weights, tmp_path / "model.safetensors")
    settings = theirs.config.to_dict() | {"tie_word_embeddings": False, "architectures": None}
    settings.pop("scale_decoder_outputs")
    (tmp_path / "config.json").write_text(json.dumps(settings), "utf-8")
    ours = from_hugging_face(tmp_path)
    src, real, tgt = inputs()
    with torch.no_grad():
        wanted = theirs(input_ids=src, attention_mask=real.long(), decoder_input_ids=tgt).logits
        assert near(ours(src, tgt), wanted)
