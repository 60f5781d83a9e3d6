"""A linear probe finds what is a linear function of the vector, and nothing else."""

import numpy
import pytest
import torch

from prosector.observe import linear_probe


def test_it_solves_the_normal_equations() -> None:
    generator = torch.Generator().manual_seed(3)
    labels = torch.randint(0, 5, (300,), generator=generator)
    x = torch.randn(300, 6, generator=generator) + torch.randn(5, 6, generator=generator)[labels]
    asked = torch.arange(300) >= 200
    rows = numpy.c_[x.double().numpy(), numpy.ones(300)]
    a, onehot = rows[:200], numpy.eye(5)[labels[:200].numpy()]
    solved = numpy.linalg.inv(a.T @ a) @ a.T @ onehot
    found = torch.tensor(rows[200:] @ solved).argmax(1)
    wanted = (found == labels[asked]).double().mean().item()
    assert linear_probe(x, labels, asked) == pytest.approx(wanted)
    assert 0.3 < wanted < 1


def test_it_finds_a_direction_but_no_parity() -> None:
    signs = torch.randint(0, 2, (2, 400), generator=torch.Generator().manual_seed(0))
    x = (2.0 * signs.T - 1) @ torch.tensor([[1.0, 2.0, 0.0], [0.5, 0.0, 3.0]])
    asked = torch.arange(400) % 2 == 0
    assert linear_probe(x, signs[0], asked) == 1.0
    assert linear_probe(x, signs[0] ^ signs[1], asked) < 0.9  # of xor a line can tell three corners of four


@pytest.mark.parametrize(
    ("vectors", "labels", "asked", "says"),
    [
        ((4, 2), (3,), None, r"\[4, 2\], \[3\]"),
        ((4,), (4,), None, r"give vectors \[N, d\]"),
        ((4, 2), (4,), torch.ones(4, dtype=torch.bool), "0 vectors to learn from"),
        ((4, 2), (4,), torch.zeros(4, dtype=torch.bool), "and 0 to ask for"),
    ],
)
def test_what_cannot_be_asked_is_an_error(vectors, labels, asked, says) -> None:
    with pytest.raises(ValueError, match=says):
        linear_probe(torch.zeros(vectors), torch.zeros(labels, dtype=torch.long), asked)
