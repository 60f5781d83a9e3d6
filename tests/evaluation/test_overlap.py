"""Dice and IoU: by hand, and what holds between them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.evaluation.overlap import best_threshold, of_classes, overlap

masks = st.lists(st.booleans(), min_size=8, max_size=8).map(lambda bits: torch.tensor(bits).reshape(2, 4))


def test_by_hand():
    """Four places and three, two of them shared: Dice 2·2/7, IoU 2/5."""
    ours, theirs = torch.tensor([1, 1, 1, 1, 0, 0]).bool(), torch.tensor([0, 0, 1, 1, 1, 0]).bool()
    assert overlap(ours, theirs) == pytest.approx((4 / 7, 2 / 5))


@given(masks, masks)
def test_for_all_masks_dice_follows_from_iou(ours, theirs):
    dice, iou = overlap(ours, theirs)
    assert dice == pytest.approx(2 * iou / (1 + iou))
    assert overlap(theirs, ours) == (dice, iou)
    assert 0 <= iou <= dice <= 1
    assert (dice == 1) == torch.equal(ours, theirs)


def test_the_threshold_is_where_dice_is_highest():
    chances = torch.tensor([0.1, 0.2, 0.32, 0.4, 0.9])
    assert best_threshold(chances, torch.tensor([0, 0, 1, 1, 1]).bool()) == pytest.approx(0.3)
    assert best_threshold(chances, torch.tensor([0, 0, 0, 0, 1]).bool()) == pytest.approx(0.5)


def test_the_background_is_no_class():
    wanted, found = torch.tensor([[0, 1, 2, 2]]), torch.tensor([[0, 1, 1, 2]])
    assert of_classes([found], [wanted], 3) == [pytest.approx((2 / 3, 1 / 2)), pytest.approx((2 / 3, 1 / 2))]
