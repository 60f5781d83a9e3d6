"""The base: three places to act, each of which does nothing until it is overridden."""

import torch

from prosector.positions import Position


def test_without_positions_nothing_is_marked():
    x = torch.randn(2, 3, 8)
    query, key = torch.randn(2, 4, 3, 2), torch.randn(2, 4, 3, 2)
    places = torch.arange(3)
    position = Position()

    assert position.embed(x, places) is x
    rotated_query, rotated_key = position.rotate(query, key, places, places)
    assert rotated_query is query
    assert rotated_key is key
    assert position.bias(places, places) is None
    assert position.fold(places, places) is None
    assert list(position.parameters()) == []
