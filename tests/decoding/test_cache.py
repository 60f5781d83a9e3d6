"""With a cache every decoder writes the same, for every position encoding and place of the norm."""

import pytest
import torch
from tests.decoding.tiny import Forgetful, alone, log_p_of, no_stutter, sources, tiny

from prosector.config.position import BUILT_IN
from prosector.decoding import beam_search, greedy, sample

SRC = sources([7, 3, 5, 4])
LENGTH = 11  # a one-hot code of 16 features ends there


def write_greedily(model, src, seeds):
    return [[found] for found in greedy(model, src, LENGTH, rule=no_stutter)]


def search(model, src, seeds):
    return beam_search(model, src, LENGTH, beam=3, n_best=3, rule=no_stutter)


def draw(model, src, seeds):
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    return [[found] for found in sample(model, src, LENGTH, generators, rule=no_stutter)]


decoders = pytest.mark.parametrize("decode", [write_greedily, search, draw])


@decoders
@pytest.mark.parametrize("norm_placement", ["pre", "post"])
@pytest.mark.parametrize("position", BUILT_IN)
def test_for_every_model_cached_decoding_writes_what_uncached_writes(position, norm_placement, decode):
    model = tiny(position=position, norm_placement=norm_placement)
    with_cache, without = decode(model, SRC, range(4)), decode(Forgetful(model), SRC, range(4))
    for row, (several, others) in enumerate(zip(with_cache, without, strict=True)):
        assert [found.ids for found in several] == [found.ids for found in others]
        for found in several:
            teacher_forced = log_p_of(model, alone(SRC, row), found.ids, found.finished)
            assert found.log_p == pytest.approx(teacher_forced, abs=1e-9)


@decoders
@pytest.mark.parametrize(
    "fields", [{"n_kv_heads": 1}, {"norm": "rms", "activation": "swiglu"}, {"kernel": "written-out"}]
)
def test_for_every_other_part_too(fields, decode):
    model = tiny(**fields)
    with_cache, without = decode(model, SRC, range(4)), decode(Forgetful(model), SRC, range(4))
    assert [[found.ids for found in row] for row in with_cache] == [[found.ids for found in row] for row in without]


@decoders
@pytest.mark.parametrize("seed", range(5))
def test_for_every_model_a_row_does_not_depend_on_its_batch(seed, decode):
    model = tiny(seed)
    together = decode(model, SRC, range(4))
    for row in range(4):
        [by_itself] = decode(model, alone(SRC, row), [row])
        assert [found.ids for found in by_itself] == [found.ids for found in together[row]]
        assert [found.score for found in by_itself] == pytest.approx([found.score for found in together[row]])


def test_random_models_have_opinions():
    """If every target were empty, or as long as can be, the laws above would say little."""
    written = [tuple(found.ids) for seed in range(8) for [found] in write_greedily(tiny(seed), SRC, None)]
    assert len({len(ids) for ids in written}) > 4
    assert len(set(written)) > 16
