"""A model that only writes, searched as one that reads: padding on either side changes nothing."""

import pytest
import torch

from prosector.config.gpt import GptConfig
from prosector.decoding.beam import beam_search
from prosector.decoding.continuation import Continuation
from prosector.decoding.greedy_search import greedy
from prosector.decoding.refilling import RefillingBeam

PAD = 0


@pytest.fixture
def model():
    """A random GPT with opinions."""
    found = GptConfig(d_model=16, n_heads=2, d_ff=24, layers=2, vocab=12, position="rope", dropout=0.0).build().eval()
    with torch.no_grad():
        for weight in found.parameters():
            weight.mul_(3)
    return found


def test_greedy_takes_the_likeliest_of_the_whole_text_again_and_again(model):
    ids = [5, 6, 7]
    [found] = greedy(Continuation(model), torch.tensor([ids]), 6)
    with torch.no_grad():
        for token in found.ids:
            scores = model(torch.tensor([ids]))[0, -1]
            scores[:3] = -torch.inf
            assert token == int(scores.argmax())
            ids.append(token)


@pytest.mark.parametrize("search", [greedy, beam_search], ids=["greedy", "beam"])
def test_company_and_the_side_of_padding_change_nothing(model, search):
    left, right = torch.tensor([[5, 6, 7], [PAD, PAD, 8]]), torch.tensor([[5, 6, 7], [8, PAD, PAD]])
    alone = [search(Continuation(model), torch.tensor([row]), 6)[0] for row in ([5, 6, 7], [8])]
    for padded in (left, right):
        for one, other in zip(search(Continuation(model), padded, 6), alone, strict=True):
            one, other = (found[0] if isinstance(found, list) else found for found in (one, other))
            assert one.ids == other.ids
            assert one.log_p == pytest.approx(other.log_p, abs=1e-4)


def test_an_empty_beginning_is_an_error(model):
    with pytest.raises(ValueError, match="a beginning has no token"):
        greedy(Continuation(model), torch.tensor([[5, 6], [PAD, PAD]]), 3)


def test_a_refilled_beam_follows_three_until_three_are_finished(model):
    [found] = beam_search(Continuation(model), torch.tensor([[5]]), 8, beam=3, n_best=3, kind=RefillingBeam)
    assert len({tuple(each.ids) for each in found}) == len(found) == 3
    assert all(each.finished or len(each.ids) == 8 for each in found)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
