"""What is where? A model that classes every place of a picture: files in, masks out."""

from __future__ import annotations

from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.config.folder import SegmentingFolder
from prosector.data.pictures import read_picture
from prosector.decoding.folder import read_segmenter
from prosector.decoding.from_folder import FromFolder


class Segmenter(FromFolder):
    """A model of the places of pictures.

    >>> segmenter = prosector.load("unet")
    >>> segmenter.predict("cells.png")  # the class of every place
    """

    read_folder = staticmethod(read_segmenter)

    def __init__(self, config: SegmentingFolder, model: nn.Module) -> None:
        self.config, self.model = config, model.eval()

    def predict(self, file: str | Path) -> Int[Tensor, "H W"]:
        """The class of every place of a picture, of whatever size.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: the file is no picture.
        """
        picture = read_picture(Path(file), self.config.model.d_input)
        return self.classes(self.chances(picture[None]))[0]

    @torch.inference_mode()
    def chances(self, pictures: Float[Tensor, "B C H W"]) -> Float[Tensor, "B classes H W"]:
        """The probability of each class at every place of pictures whose values are 0 to 1."""
        device = next(self.model.parameters()).device
        logits = self.model((pictures.to(device) - self.config.mean) / self.config.deviation)
        return logits.float().softmax(dim=1).cpu()

    def classes(self, chances: Float[Tensor, "B classes H W"]) -> Int[Tensor, "B H W"]:
        """The likeliest class; of two, the second from the threshold on that was found best."""
        if chances.shape[1] == 2:
            return (chances[:, 1] >= self.config.threshold).long()
        return chances.argmax(dim=1)
