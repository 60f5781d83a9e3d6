"""GPT-2, Llama, Qwen2 and BLOOM read as ours: the same logits, states and weights, the same words."""

import pytest
import torch
from tests.interop.hugging_face.theirs import WRITERS, near, rows, saved

from prosector.attention import Mask
from prosector.decoding.beam import beam_search
from prosector.decoding.continuation import Continuation
from prosector.decoding.greedy_search import greedy
from prosector.decoding.refilling import RefillingBeam
from prosector.interop.hugging_face import from_hugging_face
from prosector.observe import observe

LENGTHS = (30, 21, 1)


@pytest.fixture(scope="module", params=WRITERS)
def pair(request, tmp_path_factory):
    """One of theirs, and ours as read from its folder."""
    folder = tmp_path_factory.mktemp("writer")
    theirs = saved(WRITERS[request.param], folder)
    return theirs, from_hugging_face(folder)


def call_theirs(theirs, ids, real, **options):
    """Their logits over padded rows; where positions can be given, the real ones are."""
    positions = (real.cumsum(1) - 1).clamp(min=0)
    given = {} if theirs.config.model_type == "bloom" else {"position_ids": positions}
    with torch.no_grad():
        return theirs(ids, attention_mask=real.long(), **given, **options)


def call_ours(model, ids, real, cache=None, start=0):
    """Ours, for the tokens from `start` on; the cache holds those before."""
    positions = (real.cumsum(1) - 1).clamp(min=0)[:, start:]
    with torch.no_grad():
        return model.logits(model.hidden(ids[:, start:], cache, positions, Mask.causal() & Mask.keys(real)))


@pytest.mark.parametrize("side", ["left", "right"])
def test_logits_are_equal_wherever_padding_stands(pair, side):
    theirs, ours = pair
    ids, real = rows(LENGTHS, side)
    assert near(call_ours(ours, ids, real)[real], call_theirs(theirs, ids, real).logits[real])


@pytest.mark.parametrize("step", [1, 7])
def test_with_a_cache_they_are_equal_too(pair, step):
    """One token at a time, and seven at a time."""
    theirs, ours = pair
    ids, real = rows(LENGTHS, "left")
    wanted = call_theirs(theirs, ids, real).logits
    cache, found = ours.new_cache(), []
    for start in range(0, ids.shape[1], step):
        end = start + step
        found.append(call_ours(ours, ids[:, :end], real[:, :end], cache, start))
    assert near(torch.cat(found, dim=1)[real], wanted[real])


def test_hidden_states_and_attention_weights_are_equal(pair):
    theirs, ours = pair
    ids, real = rows(LENGTHS, "left")
    wanted = call_theirs(theirs, ids, real, output_hidden_states=True, output_attentions=True)
    with observe(ours) as seen:
        call_ours(ours, ids, real)
    n_layers = ours.config.layers
    states = [seen["decoder.input"], *(seen[f"decoder.{number}"] for number in range(n_layers - 1)), seen["decoder"]]
    for mine, other in zip(states, wanted.hidden_states, strict=True):
        assert near(mine[real], other[real])
    for number, weights in enumerate(wanted.attentions):
        mine = seen[f"decoder.{number}.attention.weights"].transpose(1, 2)[real]
        assert near(mine, weights.transpose(1, 2)[real])


def continued(theirs, ours, ids, real, n, forbidden=(), **options):
    """What theirs writes after padded beginnings, token by token; what ours never writes is forbidden it too."""
    forbidden = [*ours.config.special.unwritten, 3, *forbidden]
    with torch.no_grad():
        found = theirs.generate(
            ids,
            attention_mask=real.long(),
            max_new_tokens=n,
            do_sample=False,
            pad_token_id=3,
            suppress_tokens=forbidden,
            **options,
        )
    return [[id for id in row if id not in (2, 3)] for row in found[:, ids.shape[1] :].tolist()]


def test_greedy_writes_the_same_words(pair):
    theirs, ours = pair
    ids, real = rows((6, 4, 1), "left")
    found = greedy(Continuation(ours, pad=3), ids, 20)
    assert [each.ids for each in found] == continued(theirs, ours, ids, real, 20)


@pytest.mark.parametrize("alpha", [1.0, 0.6])
def test_a_beam_of_three_writes_the_same_words(pair, alpha):
    """Whether or not some end early: in the beam that is refilled, as theirs is."""
    theirs, ours = pair
    ids, real = rows((6, 4, 1), "left")
    found = beam_search(Continuation(ours, pad=3), ids, 20, beam=3, alpha=alpha, kind=RefillingBeam)
    wanted = continued(theirs, ours, ids, real, 20, num_beams=3, length_penalty=alpha, early_stopping=True)
    assert [each[0].ids for each in found] == wanted


def test_our_own_beam_of_three_writes_the_same_words_too(pair):
    """Of one length: what is finished keeps its place in our beam, and makes room for another in theirs."""
    theirs, ours = pair
    ids, real = rows((6, 4, 1), "left")
    found = beam_search(Continuation(ours, pad=3), ids, 12, beam=3, rule=lambda *_: [2])
    wanted = continued(theirs, ours, ids, real, 12, forbidden=[2], num_beams=3, length_penalty=1.0)
    assert [each[0].ids for each in found] == wanted
