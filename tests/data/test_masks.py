"""Pictures with masks: real ones whose parts lie apart, folders, crops."""

import numpy as np
import pytest
import torch
from PIL import Image

from prosector.config.segmenting import SegmentingDataConfig
from prosector.data.masks import Crops, Piece, brain, nuclei, read_masks


def test_the_nuclei_are_blocks_that_make_up_the_picture():
    parts = nuclei()
    assert [len(part) for part in parts[:3]] == [10, 2, 4]
    places = [piece.place for part in parts[:3] for piece in part]
    assert len(set(places)) == 16
    assert all(piece.picture.shape == (1, 128, 128) and piece.classes.shape == (128, 128) for piece in parts.train)
    share = torch.stack([piece.classes for part in parts[:3] for piece in part]).float().mean().item()
    assert 0.1 < share < 0.6
    bright = torch.cat([piece.picture[0][piece.classes == 1] for piece in parts.train]).mean()
    dark = torch.cat([piece.picture[0][piece.classes == 0] for piece in parts.train]).mean()
    assert bright > 2 * dark


def test_the_slices_of_the_head_lie_apart():
    parts = brain()
    slices = [[int(piece.place.removeprefix("slice ")) for piece in part] for part in parts[:3]]
    assert min(map(len, slices)) >= 4
    for part, numbers in enumerate(slices):
        others = [number for other, theirs in enumerate(slices) if other != part for number in theirs]
        assert min(abs(number - other) for number in numbers for other in others) >= 4
    assert parts.names == ("neither", "grey matter", "white matter")
    assert all(piece.picture.min() >= 0 and piece.picture.max() <= 1 for piece in parts.train)
    whiter = [torch.cat([p.picture[0][p.classes == k] for p in parts.train]).mean() for k in (1, 2)]
    assert whiter[0] < whiter[1]  # in a T1 picture white matter is the brighter one


def test_a_crop_is_cut_turned_and_mirrored_with_its_classes():
    """The picture is its own mask: whatever is done to one is done to the other."""
    classes = torch.randint(0, 4, (20, 30), generator=torch.Generator().manual_seed(0))
    crops = Crops([Piece(classes[None] / 4, classes, "")], SegmentingDataConfig(crop=9, batch=6, epoch=4), seed=1)
    seen = set()
    for number in range(3):
        for which in crops.epoch(number):
            batch = crops.batch(which, number)
            assert batch.pictures.shape == (6, 1, 9, 9)
            assert torch.equal(batch.pictures[:, 0] * 4, batch.classes.float())
            seen |= {tuple(crop.flatten().tolist()) for crop in batch.classes}
    assert len(seen) > 60
    assert torch.equal(crops.batch([3], 1).classes, crops.batch([3], 1).classes)


def test_a_piece_that_is_smaller_than_a_crop_is_filled_up():
    piece = Piece(torch.ones(1, 3, 5), torch.ones(3, 5, dtype=torch.long), "")
    batch = Crops([piece], SegmentingDataConfig(crop=8, batch=1), seed=1).batch([0], 0)
    assert batch.pictures.min() == 1
    assert batch.classes.sum() == 15


def write_folder(folder, n=6):
    for name in ("pictures", "masks"):
        (folder / name).mkdir()
    for number in range(n):
        mask = np.zeros((6, 8), np.uint8)
        mask[: number + 1] = 200
        Image.fromarray(mask).save(folder / "masks" / f"{number}.png")
        Image.fromarray(mask // 2).save(folder / "pictures" / f"{number}.png")
    return folder


def test_a_folder_of_ones_own(tmp_path):
    parts = read_masks(str(write_folder(tmp_path)))
    assert parts.names == ("0", "200")
    assert [[piece.place for piece in part] for part in parts[:3]] == [
        ["0.png", "1.png", "2.png", "5.png"],
        ["3.png"],
        ["4.png"],
    ]
    assert parts.train[1].classes[:3, 0].tolist() == [1, 1, 0]


def test_mistakes_are_named(tmp_path):
    with pytest.raises(ValueError, match="give nuclei, brain, or a folder that holds pictures/ and masks/"):
        read_masks(str(tmp_path))
    write_folder(tmp_path)
    Image.new("L", (3, 3)).save(tmp_path / "masks" / "2.png")
    with pytest.raises(ValueError, match=r"2\.png is 6 x 8, its mask 3 x 3"):
        read_masks(str(tmp_path))
    (tmp_path / "masks" / "2.png").unlink()
    with pytest.raises(ValueError, match=r"masks has no mask for 2\.png"):
        read_masks(str(tmp_path))
