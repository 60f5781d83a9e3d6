"""ViT: a picture is a sentence of patches.

    x      = [class ; W patch_1 ; … ; W patch_n] + positions         every patch is a word
    hidden = encoder(x)                                              every patch, knowing all others
    logits = W_out hidden_class                                      a score for each class

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words". Nothing but the positions tells it which patches are
neighbours: what a convolution has built in has to be learned, from many pictures. Instead of the class token the mean
of all patches can be classed.

Shapes: B batch, H and W height and width, L patches (and one), d features, C classes.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.blocks import EncoderStack
from prosector.config.vit import ViTConfig
from prosector.positions.grid import GridPosition, places_of
from prosector.tap import tap


class ViT(nn.Module):
    """A picture in, a score for each class out."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        # A linear map of each patch is a convolution that steps from patch to patch.
        self.patches = nn.Conv2d(config.d_input, config.d_model, kernel_size=config.patch, stride=config.patch)
        n_prefix = 1 if config.pooling == "class-token" else 0
        self.prefix = nn.Parameter(0.02 * torch.randn(n_prefix, config.d_model))
        self.encoder = EncoderStack(
            [config.build_encoder_layer() for _ in range(config.layers)],
            config.build_position(bidirectional=True),
            config.build_final_norm(),
            config.dropout,
        )
        self.output = nn.Linear(config.d_model, config.n_classes)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def hidden(self, pictures: Float[Tensor, "B c H W"]) -> Float[Tensor, "B L d"]:
        """One vector for each patch, row by row, and before them one for the class token, if there is one.

        Raises:
            ValueError: the patch does not divide the pictures.
        """
        grid = self.config.grid(*pictures.shape[-2:])
        pictures = tap(self, "pictures", pictures)
        patches = tap(self, "patches", self.patches(pictures)).flatten(2).transpose(1, 2)  # [B, h·w, d]
        x = torch.cat([self.prefix.expand(len(pictures), -1, -1), patches], dim=1)
        return self.encoder(x, positions=self.places(grid, x))

    def places(self, grid: tuple[int, int], x: Float[Tensor, "B L d"]) -> Tensor:
        """Where the tokens are: in the picture, or, for an encoding that was made for texts, in line."""
        if isinstance(self.encoder.position, GridPosition):
            height, width = self.encoder.position.table.shape[1:]
            return places_of(grid, (height, width)).to(x.device)
        return torch.arange(x.shape[1], device=x.device)

    def forward(self, pictures: Float[Tensor, "B c H W"]) -> Float[Tensor, "B C"]:
        """A score for each class; pictures of another size than in training will do."""
        hidden = self.hidden(pictures)
        pooled = hidden[:, 0] if len(self.prefix) else hidden.mean(dim=1)
        return tap(self, "logits", self.output(tap(self, "pooled", pooled)))
