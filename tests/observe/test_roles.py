"""Heads that do one thing are named after it."""

import pytest
import torch
from tests.observe.models import translator, watched

from prosector.observe.roles import head_roles, roles_of

ROWS = torch.arange(5)


def looking_at(keys):
    """A head whose rows look at one key each; one that is not there is the nearest."""
    return torch.zeros(5, 5).index_put((ROWS, torch.as_tensor(keys).clamp(0, 4)), torch.ones(5))


HEADS = {
    "previous": looking_at(ROWS - 1),
    "next": looking_at(ROWS + 1),
    "first": looking_at([0] * 5),
    "last": looking_at([4] * 5),
    "same": looking_at(ROWS),
    "mixed": torch.full((5, 5), 0.2),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_that_does_one_thing_is_named_after_it(name):
    [roles] = roles_of(HEADS[name][None])
    assert roles.name == name
    assert roles.spread == pytest.approx(1.0 if name == "mixed" else 0.0, abs=1e-6)


def test_a_diagonal_between_sequences_of_unlike_length():
    """Four words read, two written: the first looks at the second word, at three quarters of its half, the last at
    the fourth."""
    weights = torch.tensor([[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]])
    [roles] = roles_of(weights)
    assert roles.diagonal == 1.0
    assert roles.first == 0.0
    assert roles.last == 0.5


def test_every_recorded_attention_is_scored():
    found = head_roles(watched(translator()))
    assert set(found) == {
        *(f"encoder.{number}.attention" for number in range(2)),
        *(f"decoder.{number}.{kind}" for number in range(3) for kind in ("self", "cross")),
    }
    for heads in found.values():
        assert len(heads) == 2
        assert all(0 <= share <= 1 + 1e-6 for roles in heads for share in roles)
