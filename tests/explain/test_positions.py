"""Encodings on the page: the user's own like ours, measured; and one that says nothing says why."""

import re

import pytest
import torch
from tests.explain.test_document import unpacked

from prosector.config.position import _registered, register_position
from prosector.explain.positions import all_encodings, shown
from prosector.positions import LearnedPosition, Position, SinusoidalPosition

SIZES = {"d_model": 64, "n_heads": 4, "d_head": 32}


class Square(Position):
    """Scores fall with the square of the distance.

    And this is more about it.
    """

    def __init__(self, **sizes):
        super().__init__()

    def bias(self, query_positions, key_positions):
        apart = torch.atleast_2d(key_positions)[:, None, :] - torch.atleast_2d(query_positions)[:, :, None]
        return -0.01 * apart[:, None].float() ** 2


class Three(Position):
    """Knows three places."""

    def __init__(self, **sizes):
        super().__init__()

    def embed(self, x, positions):
        return x + torch.eye(3, x.shape[-1])[positions]


@pytest.fixture
def registered():
    before = dict(_registered)
    for each in (Square, Three):
        register_position(each)
    yield tuple((each.__name__, each) for each in (Square, Three))
    _registered.clear()
    _registered.update(before)


def test_a_class_of_the_users_own_is_measured_like_ours(registered):
    found = {each["kind"]: each for each in all_encodings(registered)}
    assert list(found)[:2] == ["Square", "Three"]
    square = found["Square"]
    assert square["text"] == "Scores fall with the square of the distance."
    assert square["bias"]["similarity"][0] == pytest.approx([-0.01 * d**2 for d in range(48)], abs=1e-5)
    assert "fault" in found["Three"]
    assert "embed" not in found["Three"]


def test_two_positions_of_sinusoids_are_as_alike_as_their_distance_says():
    said, fault = shown(SinusoidalPosition(), SIZES)
    assert fault == ""
    frequencies = 10_000 ** (-torch.arange(32, dtype=torch.float64) / 32)
    expected = [(d * frequencies).cos().mean().item() for d in range(48)]
    assert said["embed"]["similarity"][0] == pytest.approx(expected, abs=1e-5)


def test_a_short_table_is_shown_as_far_as_it_goes():
    said, _ = shown(LearnedPosition(64, max_length=30), SIZES)
    assert unpacked(said["embed"]["picture"]).shape == (24, 64)


def test_they_stand_on_the_page(registered, open_page, translator, tmp_path):
    from prosector.explain.explainer import Explainer
    from prosector.explain.options import RunOptions
    from prosector.explain.page import fitting

    page = fitting(Explainer("zh-en", translator), RunOptions(text="我", beam=1), [])
    (tmp_path / "page.html").write_text(page, "utf-8")
    opened = open_page((tmp_path / "page.html").as_uri() + "#/positions")
    card = opened.locator(".encoding", has_text="Square")
    assert "Scores fall with the square" in card.inner_text()
    assert card.locator("canvas").count() == 1
    assert "IndexError" in opened.locator(".encoding", has_text=re.compile("^Three")).inner_text()
