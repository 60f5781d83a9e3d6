"""Pictures: real ones, folders, splits that never change, batches that are moved a little."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from prosector.config.pictures import PicturesConfig
from prosector.data.pictures import PictureBatches, Pictures, moved, read_picture, read_pictures, split, turned

FEW = Pictures(torch.rand(50, 1, 4, 5), torch.arange(50) % 3, ("a", "b", "c"))


def test_the_real_digits_are_what_they_are_said_to_be():
    """1,797 of 8 x 8, each class about as often, and a zero is empty in the middle."""
    digits = read_pictures("digits")
    assert digits.values.shape == (1797, 1, 8, 8)
    assert (digits.values.min().item(), digits.values.max().item()) == (0, 1)
    assert all(170 < count < 190 for count in digits.labels.bincount().tolist())
    assert (
        digits.values[digits.labels == 0, 0, 3:5, 3:5].mean()
        < 0.15
        < digits.values[digits.labels == 1, 0, 3:5, 3:5].mean()
    )


@given(st.integers(0, 30), st.integers(1, 10), st.none() | st.integers(1, 10))
def test_parts_share_no_picture_and_the_test_is_always_the_same(test, dev, train):
    parts = split(FEW, PicturesConfig(test=test, dev=dev, train=train))
    rows = [tuple(value.flatten().tolist()) for part in parts for value in part.values]
    assert len(set(rows)) == len(rows)
    assert (len(parts.dev), len(parts.test)) == (dev, test)
    assert len(parts.train) == (50 - test - dev if train is None else train)
    again = split(FEW, PicturesConfig(test=test, dev=1, train=1))
    assert torch.equal(again.test.values, parts.test.values)


def test_too_few_are_counted():
    with pytest.raises(ValueError, match="50 pictures do not give 40 to test, 9 to choose and 2 to train on"):
        split(FEW, PicturesConfig(test=40, dev=9, train=2))


@given(st.integers(-5, 5), st.integers(-5, 5))
def test_a_moved_picture_keeps_what_stays_in_sight(down, right):
    picture = torch.arange(1, 21.0).reshape(1, 4, 5)
    result = moved(picture, down, right)
    for i in range(4):
        for j in range(5):
            inside = 0 <= i - down < 4 and 0 <= j - right < 5
            assert result[0, i, j] == (picture[0, i - down, j - right] if inside else 0)


def test_every_picture_once_an_epoch_and_moved_as_the_epoch_has_it():
    batches = PictureBatches(FEW, PicturesConfig(batch=8, shift=2), seed=1)
    epochs = [batches.epoch(number) for number in (0, 1, 0)]
    assert epochs[0] == epochs[2] != epochs[1]
    assert sorted(i for batch in epochs[0] for i in batch) == list(range(50))
    first, again, later = (batches.batch(range(8), epoch).pictures for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, later)


def test_a_folder_of_folders(tmp_path):
    for name, value in (("dark", 10), ("light", 240)):
        (tmp_path / name).mkdir()
        for number in range(3):
            Image.fromarray(np.full((6, 8), value, np.uint8)).save(tmp_path / name / f"{number}.png")
        (tmp_path / name / "notes.txt").touch()
    found = read_pictures(str(tmp_path))
    assert found.classes == ("dark", "light")
    assert found.values.shape == (6, 1, 6, 8)
    assert found.labels.tolist() == [0, 0, 0, 1, 1, 1]
    Image.new("RGB", (8, 6)).save(tmp_path / "light" / "9.png")
    with pytest.raises(ValueError, match=r"9\.png is 6 x 8 x 3 and .*0\.png 6 x 8 x 1; bring them to one size"):
        read_pictures(str(tmp_path))


def test_mistakes_are_named(tmp_path):
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(ValueError, match=r"a\.png cannot be read as a picture"):
        read_picture(tmp_path / "a.png")
    with pytest.raises(FileNotFoundError):
        read_picture(tmp_path / "b.png")
    with pytest.raises(ValueError, match="give mnist-5k, digits, or a folder"):
        read_pictures("mnist")
    with pytest.raises(ValueError, match="needs two folders with pictures"):
        read_pictures(str(tmp_path))


@pytest.mark.parametrize(("highest", "expected"), [(200, 200 / 255), (65535, 1.0), (30000, 30000 / 65535)])
def test_sixteen_bits_a_value_are_not_cut_off(tmp_path, highest, expected):
    """8-bit values in 16 bits, as microscopes write them, are 8-bit values."""
    Image.fromarray(np.array([[0, highest]], np.uint16)).save(tmp_path / "deep.tif")
    assert read_picture(tmp_path / "deep.tif")[0, 0].tolist() == pytest.approx([0, expected])
    assert read_picture(tmp_path / "deep.tif", 3).shape == (3, 1, 2)


@pytest.mark.parametrize("most", [150, 100])  # of Pillow's two answers one is a warning, from twice as many on an error
def test_too_many_pixels_are_one_error_of_ours(tmp_path, monkeypatch, most):
    Image.new("L", (16, 15)).save(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", most)
    with pytest.raises(ValueError, match=rf"huge\.png has more than {most} pixels, the most that are read"):
        read_picture(tmp_path / "huge.png")


def test_colours_are_as_asked_for(tmp_path):
    Image.new("RGB", (2, 2), (255, 0, 0)).save(tmp_path / "red.png")
    assert read_picture(tmp_path / "red.png").shape == (3, 2, 2)
    assert read_picture(tmp_path / "red.png")[:, 0, 0].tolist() == [1, 0, 0]
    assert read_picture(tmp_path / "red.png", 1)[0, 0, 0].item() == pytest.approx(0.299, abs=0.01)


@pytest.mark.parametrize(("height", "width"), [(4, 4), (5, 5)])
def test_a_quarter_turn_is_rot90(height, width):
    pictures = torch.rand(2, 3, height, width)
    quarter = torch.full((2,), torch.pi / 2)
    torch.testing.assert_close(turned(pictures, quarter, torch.ones(2, 2)), pictures.rot90(1, (2, 3)))


def test_a_half_turn_of_any_size_is_both_flips_and_no_turn_is_nothing():
    pictures, ones = torch.rand(2, 1, 4, 7), torch.ones(2, 2)
    torch.testing.assert_close(turned(pictures, torch.full((2,), torch.pi), ones), pictures.flip(2, 3))
    torch.testing.assert_close(turned(pictures, torch.zeros(2), ones), pictures)


def test_stretched_to_twice_the_height_each_row_is_two():
    picture = torch.zeros(1, 1, 4, 4)
    picture[..., 1:3, :] = 1  # the two rows in the middle
    high = turned(picture, torch.zeros(1), torch.tensor([[2.0, 1.0]]))
    torch.testing.assert_close(high[0, 0, :, 0], torch.tensor([0.75, 1.0, 1.0, 0.75]))


def test_pictures_are_turned_and_stretched_as_the_epoch_has_it():
    config = PicturesConfig(batch=8, turn=15, stretch=0.1)
    batches = PictureBatches(FEW, config, seed=1)
    first, again, other = (batches.batch([3, 5], epoch).pictures for epoch in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(batches.batch([5], 0).pictures[0], first[1])  # whatever else is in the batch
