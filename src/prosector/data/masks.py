"""Pictures whose every place has a class: real ones from packages of PyPI, or one's own; parts that lie apart.

    nuclei   512 x 512 places under a microscope, with 125 nuclei marked; in stardist
    brain    a magnetic resonance image of a head (ICBM 152 average), with its grey and white matter; in nilearn

The nuclei are one picture: it is cut into 16 blocks of 128 x 128, and a block belongs to one part. The head is cut into
slices from top to bottom; slices of two parts are four or more apart, since neighbours look alike. What lies where is
written down (`Piece.place`), so that anyone can check that nothing was seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.config.segmenting import SegmentingDataConfig
from prosector.data.pictures import SUFFIXES, read_picture
from prosector.data.wheels import Member, fetched

STARDIST, NILEARN = "stardist==0.9.2", "nilearn==0.14.1"
BRAIN = "nilearn/datasets/data/mni_icbm152_{}_tal_nlin_sym_09a_converted.nii.gz"
MEMBERS = {
    "picture": Member(
        STARDIST, "stardist/data/images/img2d.tif", "f9ccc1571b92c861ff87e28463068b43f61bd47357ed0503f711e5cd1eb97750"
    ),
    "mask": Member(
        STARDIST, "stardist/data/images/mask2d.tif", "59ad5e820b7982ca9d13e946fa6e7f64e2714899e00a2ae6c69aa79aad53d46f"
    ),
    "t1": Member(NILEARN, BRAIN.format("t1"), "421a10e872fd6cadae7f61d358dffbcc1795a497d61ee76c5dda2503e1a1e9e6"),
    "gm": Member(NILEARN, BRAIN.format("gm"), "97a5ca69bd24db37a9cb7b32525e1733a209af904129bf1cd36da06d24243bed"),
    "wm": Member(NILEARN, BRAIN.format("wm"), "382d92812de4744f9c86c7a0e4f680dc317a0a50e4da1f0153618a6798c7b7db"),
}
# Which of the 16 blocks, row by row, are for choosing and which for the end; the others are to learn from.
DEV_BLOCKS, TEST_BLOCKS = (2, 13), (5, 7, 8, 10)
BLOCK = 128


class Piece(NamedTuple):
    """A picture or a part of one, values 0 to 1, the class of every place, and where it lies."""

    picture: Float[Tensor, "C H W"]
    classes: Int[Tensor, "H W"]
    place: str


class MaskSplit(NamedTuple):
    """What to learn from, to choose by, and to be judged by."""

    train: list[Piece]
    dev: list[Piece]
    test: list[Piece]
    names: tuple[str, ...]  # of the classes
    origin: str


def read_masks(source: str) -> MaskSplit:
    """A data set by its name, or pictures and masks in a folder.

    Raises:
        ValueError: it is neither, or the files do not fit each other.
    """
    if source == "nuclei":
        return nuclei()
    if source == "brain":
        return brain()
    folder = Path(source).expanduser()
    if not (folder / "pictures").is_dir() or not (folder / "masks").is_dir():
        raise ValueError(f"data.source={source!r}: give nuclei, brain, or a folder that holds pictures/ and masks/")
    return read_folder(folder)


def origin_of(names: Sequence[str], what: str) -> str:
    """Where files come from, for people."""
    files = ", ".join(f"`{MEMBERS[name].path}` (sha256 `{MEMBERS[name].sha256}`)" for name in names)
    return f"{what}: {files} of the PyPI package {MEMBERS[names[0]].package}"


def nuclei() -> MaskSplit:
    """Nucleus or not, in blocks."""
    from PIL import Image

    picture = np.asarray(Image.open(fetched(MEMBERS["picture"]))).astype(np.float32)
    mask = np.asarray(Image.open(fetched(MEMBERS["mask"]))).astype(np.int64) > 0
    values, classes = torch.from_numpy(picture / 255)[None], torch.from_numpy(mask.astype(np.int64))
    parts: tuple[list[Piece], list[Piece], list[Piece]] = ([], [], [])
    for number in range(16):
        top, left = number // 4 * BLOCK, number % 4 * BLOCK
        rows, columns = slice(top, top + BLOCK), slice(left, left + BLOCK)
        place = f"rows {top} to {top + BLOCK - 1}, columns {left} to {left + BLOCK - 1}"
        which = 1 if number in DEV_BLOCKS else 2 if number in TEST_BLOCKS else 0
        parts[which].append(Piece(values[:, rows, columns], classes[rows, columns], place))
    origin = origin_of(("picture", "mask"), "Nuclei under a microscope (BSD-3-Clause)")
    return MaskSplit(*parts, ("background", "nucleus"), origin)


def brain() -> MaskSplit:
    """Neither, grey matter or white matter, in every second slice from top to bottom."""
    head, grey, white = (volume(fetched(MEMBERS[name])) for name in ("t1", "gm", "wm"))
    neither = torch.full_like(head, 0.5 * max(grey.max().item(), white.max().item()))
    classes = torch.stack([neither, grey, white]).argmax(dim=0)
    slices = [z for z in range(0, head.shape[2], 2) if (classes[:, :, z] > 0).float().mean() > 0.05]
    parts: tuple[list[Piece], list[Piece], list[Piece]] = ([], [], [])
    for number, z in enumerate(slices):
        turn = number % 11  # six to learn from, then one to choose by and one to be judged by, one left out between
        which = {7: 1, 9: 2}.get(turn, 0 if turn < 6 else None)
        if which is not None:
            parts[which].append(Piece(head[None, :, :, z] / head.max(), classes[:, :, z], f"slice {z}"))
    origin = origin_of(("t1", "gm", "wm"), "A head, its grey and its white matter (ICBM 152, 2009a, by nilearn)")
    return MaskSplit(*parts, ("neither", "grey matter", "white matter"), origin)


def volume(path: Path) -> Float[Tensor, "X Y Z"]:
    """The numbers of a NIfTI file.

    Raises:
        ImportError: nibabel is not installed.
    """
    try:
        import nibabel
    except ImportError as error:
        raise ImportError("the brain needs nibabel: pip install 'prosector[pictures]'") from error
    image: Any = nibabel.load(path)
    return torch.from_numpy(np.asarray(image.dataobj, dtype=np.float32))


def read_folder(folder: Path) -> MaskSplit:
    """Pictures and masks of the same names; a mask's grey values, lowest first, are the classes.

    In alphabetical order every fifth picture is to choose by, and every fifth to be judged by.
    """
    from PIL import Image

    pictures = sorted(path for path in (folder / "pictures").iterdir() if path.suffix.lower() in SUFFIXES)
    masks = {path.stem: path for path in (folder / "masks").iterdir() if path.suffix.lower() in SUFFIXES}
    if missing := [path.name for path in pictures if path.stem not in masks]:
        raise ValueError(f"{folder / 'masks'} has no mask for {missing[0]}: a mask has its picture's name")
    if len(pictures) < 5:
        raise ValueError(f"{folder} holds {len(pictures)} pictures; five are the least")
    greys = [np.asarray(Image.open(masks[path.stem]).convert("L")) for path in pictures]
    levels = sorted({int(level) for grey in greys for level in np.unique(grey)})
    if not 1 < len(levels) <= 32:
        raise ValueError(f"the masks in {folder} have {len(levels)} grey values; each is a class, and 2 to 32 can be")
    parts: tuple[list[Piece], list[Piece], list[Piece]] = ([], [], [])
    for number, (path, grey) in enumerate(zip(pictures, greys, strict=True)):
        picture = read_picture(path)
        if picture.shape[1:] != grey.shape:
            sizes = (" x ".join(map(str, shape)) for shape in (picture.shape[1:], grey.shape))
            raise ValueError("{} is {}, its mask {}".format(path, *sizes))
        classes = torch.from_numpy(np.searchsorted(levels, grey).astype(np.int64))
        parts[{3: 1, 4: 2}.get(number % 5, 0)].append(Piece(picture, classes, path.name))
    return MaskSplit(*parts, tuple(map(str, levels)), f"Pictures and masks in the folder `{folder.name}`")


@dataclass(frozen=True)
class MaskBatch:
    """What one step of training sees."""

    pictures: Float[Tensor, "B C h w"]
    classes: Int[Tensor, "B h w"]

    @property
    def size(self) -> int:
        """How many crops."""
        return len(self.classes)

    def to(self, device: torch.device) -> MaskBatch:
        """The batch on a device."""
        return MaskBatch(self.pictures.to(device), self.classes.to(device))


class Crops:
    """Crops of the pieces, each piece as often as another, cut, turned and mirrored by chance."""

    def __init__(self, pieces: Sequence[Piece], config: SegmentingDataConfig, seed: int) -> None:
        self.pieces, self.config, self.seed = pieces, config, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of crops."""
        n = self.config.batch
        return [list(range(i * n, (i + 1) * n)) for i in range(self.config.epoch)]

    def batch(self, which: Sequence[int], epoch: int) -> MaskBatch:
        """Crops as tensors; each is a function of seed, epoch and its number."""
        crops = [self.crop(number, epoch) for number in which]
        return MaskBatch(*(torch.stack(parts) for parts in zip(*crops, strict=True)))

    def crop(self, number: int, epoch: int) -> tuple[Tensor, Tensor]:
        """One crop and its classes; a piece that is smaller is filled up with its edge, and its mask with class 0."""
        rng = np.random.default_rng([self.seed, epoch, number])
        piece = self.pieces[int(rng.integers(len(self.pieces)))]
        side = self.config.crop
        picture, classes = piece.picture, piece.classes
        height, width = classes.shape
        if height < side or width < side:
            more = (0, max(side - width, 0), 0, max(side - height, 0))
            picture = torch.nn.functional.pad(picture[None], more, mode="replicate")[0]
            classes = torch.nn.functional.pad(classes, more)
            height, width = classes.shape
        top, left = int(rng.integers(height - side + 1)), int(rng.integers(width - side + 1))
        picture = picture[:, top : top + side, left : left + side]
        classes = classes[top : top + side, left : left + side]
        turns = int(rng.integers(4))
        picture, classes = picture.rot90(turns, (-2, -1)), classes.rot90(turns, (-2, -1))
        return (picture.flip(-1), classes.flip(-1)) if rng.random() < 0.5 else (picture, classes)
