"""What is it? A model of pictures with its classes: files in, classes with their probabilities out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.config.folder import PictureFolder
from prosector.data.pictures import read_picture
from prosector.decoding.folder import read_picture_model
from prosector.decoding.from_folder import FromFolder


class Guess(NamedTuple):
    """A class, and how probable the model finds it."""

    name: str
    probability: float


class Classifier(FromFolder):
    """A model of pictures.

    >>> classifier = prosector.load("vit")
    >>> classifier.predict(["seven.png"], top=3)
    """

    read_folder = staticmethod(read_picture_model)

    def __init__(self, config: PictureFolder, model: nn.Module) -> None:
        self.config, self.model = config, model.eval()

    def predict(self, files: Sequence[str | Path], top: int = 1, invert: bool = False) -> list[list[Guess]]:
        """The likeliest classes of each picture, the likeliest first.

        A picture of another size is brought to the one the model was trained on, and its colours to the model's.

        Args:
            top: how many classes.
            invert: exchange dark and light first: digits on paper are dark, those of MNIST light.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: a file is no picture.
        """
        pictures = [self.fitted(read_picture(Path(file), self.config.model.d_input), invert) for file in files]
        if not pictures:
            return []
        chances = self.logits(torch.stack(pictures)).softmax(dim=1)
        values, order = chances.topk(min(top, len(self.config.classes)), dim=1)
        return [
            [Guess(self.config.classes[i], p) for i, p in zip(row, best, strict=True)]
            for row, best in zip(order.tolist(), values.tolist(), strict=True)
        ]

    def fitted(self, picture: Float[Tensor, "C H W"], invert: bool) -> Float[Tensor, "C h w"]:
        """A picture as the model knows them."""
        picture = 1 - picture if invert else picture
        if tuple(picture.shape[1:]) == tuple(self.config.size):
            return picture
        return F.interpolate(picture[None], size=self.config.size, mode="bilinear", antialias=True)[0].clamp(0, 1)

    @torch.inference_mode()
    def logits(self, pictures: Float[Tensor, "B C H W"]) -> Float[Tensor, "B classes"]:
        """A score for each class of pictures whose values are 0 to 1."""
        device = next(self.model.parameters()).device
        return self.model((pictures.to(device) - self.config.mean) / self.config.deviation).float().cpu()
