"""From a config to a decoder: every field arrives."""

import pytest
from tests.decoding.tiny import no_stutter, sources, tiny

from prosector.config.decoding import DecodingConfig
from prosector.decoding import beam_search, greedy, sample
from prosector.decoding.sampling import generator_of
from prosector.decoding.search import search

MODEL, SRC, TEXTS, LONGEST = tiny(), sources([7, 3, 5]), ["a", "b", "c"], [9, 4, 6]


def chance(seed):
    return [generator_of(seed, text) for text in TEXTS]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"beam": 1, "alpha": 0.3}, lambda: greedy(MODEL, SRC, LONGEST, 0.3, no_stutter)),
        ({"beam": 5, "alpha": 0.3, "n_best": 2}, lambda: beam_search(
            MODEL, SRC, LONGEST, beam=5, alpha=0.3, n_best=2, rule=no_stutter)),
        ({"seed": 3, "alpha": 0.3}, lambda: sample(MODEL, SRC, LONGEST, chance(3), alpha=0.3, rule=no_stutter)),
        ({"temperature": 2.5}, lambda: sample(MODEL, SRC, LONGEST, chance(0), temperature=2.5, rule=no_stutter)),
        ({"top_k": 2}, lambda: sample(MODEL, SRC, LONGEST, chance(0), top_k=2, rule=no_stutter)),
        ({"top_p": 0.4}, lambda: sample(MODEL, SRC, LONGEST, chance(0), top_p=0.4, rule=no_stutter)),
    ],
)  # fmt: skip
def test_what_the_config_says_is_done(fields, expected):
    found = search(MODEL, SRC, LONGEST, TEXTS, no_stutter, DecodingConfig(**fields))
    wanted = [several if isinstance(several, list) else [several] for several in expected()]
    assert found == wanted
    default = search(MODEL, SRC, LONGEST, TEXTS, no_stutter, DecodingConfig(beam=1 if "beam" in fields else None))
    assert found != default
