"""ConvTransformer: a Vision Transformer that knows from the start what a neighbour is.

    tokens = norm(conv(picture))                 overlapping windows instead of patches
    layer:   x + attention(norm(x)),  x + feed_forward(norm(x))      with convolutional projections
    …                                            the next stage does the same on a coarser grid
    logits = W_out norm(class token)             which joins in the last stage

No positions: convolutions know where things are, so that any picture size will do (Wu et al. 2021, "CvT: Introducing
Convolutions to Vision Transformers", sections 3.1 to 3.3).

Shapes: B batch, h × w a stage's grid, L = h·w tokens, d features of a stage, C classes.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from prosector.attention import KERNELS, Dropout, MultiHeadAttention
from prosector.blocks import ConvAttention, FeedForward, LayerNorm, PreNorm
from prosector.config.conv_transformer import ConvTransformerConfig, StageConfig
from prosector.tap import tap

Grid = tuple[int, int]


class ConvLayer(nn.Module):
    """Attention over neighbourhoods, and a feed-forward network, each with a residual path and a norm before it."""

    def __init__(self, stage: StageConfig, config: ConvTransformerConfig) -> None:
        super().__init__()
        attention = MultiHeadAttention(stage.d_model, stage.n_heads, kernel=KERNELS[config.kernel])
        self.attention = ConvAttention(attention, stage.d_model, stage.key_stride)
        self.feed_forward = FeedForward(stage.d_model, config.d_ff * stage.d_model, "gelu")
        self.norm1, self.norm2 = LayerNorm(stage.d_model), LayerNorm(stage.d_model)
        self.residual = PreNorm(config.dropout)

    def forward(self, x: Float[Tensor, "B L d"], grid: Grid) -> Float[Tensor, "B L d"]:
        x = self.residual(x, lambda y: self.attention(y, grid), self.norm1, None)
        x = tap(self, "attended", x)
        return tap(self, "", self.residual(x, self.feed_forward, self.norm2, None))


class Stage(nn.Module):
    """A grid of tokens, made by a convolution, and layers on it; `prefix` tokens of its own join in front."""

    def __init__(self, d_input: int, stage: StageConfig, config: ConvTransformerConfig, n_prefix: int) -> None:
        super().__init__()
        self.embed = nn.Conv2d(d_input, stage.d_model, stage.kernel, stage.stride, padding=stage.kernel // 2)
        self.norm = LayerNorm(stage.d_model)
        self.prefix = nn.Parameter(0.02 * torch.randn(n_prefix, stage.d_model))
        self.dropout = Dropout(config.dropout)
        self.n_layers = stage.layers
        for number in range(stage.layers):
            self.add_module(str(number), ConvLayer(stage, config))

    def forward(self, picture: Float[Tensor, "B c H W"]) -> tuple[Float[Tensor, "B L d"], Grid]:
        """The stage's tokens, the prefix first, and the grid of the others."""
        tokens = tap(self, "embed", self.embed(picture))  # [B, d, h, w]
        grid = (tokens.shape[2], tokens.shape[3])
        x = self.norm(tokens.flatten(2).transpose(1, 2))
        x = tap(self, "input", self.dropout(torch.cat([self.prefix.expand(len(x), -1, -1), x], dim=1)))
        for number in range(self.n_layers):
            x = self.get_submodule(str(number))(x, grid)
        return tap(self, "", x), grid


class ConvTransformer(nn.Module):
    """A picture in, a score for each class out."""

    def __init__(self, config: ConvTransformerConfig) -> None:
        super().__init__()
        self.config = config
        widths = [config.d_input, *(stage.d_model for stage in config.stages)]
        last = len(config.stages) - 1
        for number, stage in enumerate(config.stages):
            self.add_module(f"stage{number}", Stage(widths[number], stage, config, n_prefix=int(number == last)))
        self.final_norm = LayerNorm(widths[-1])
        self.output = nn.Linear(widths[-1], config.n_classes)
        nn.init.normal_(self.output.weight, std=0.02)
        nn.init.zeros_(self.output.bias)

    def hidden(self, pictures: Float[Tensor, "B c H W"]) -> Float[Tensor, "B L d"]:
        """The last stage's tokens: the class token, and its grid row by row."""
        x = tap(self, "pictures", pictures)
        for number in range(len(self.config.stages)):
            tokens, grid = self.get_submodule(f"stage{number}")(x)
            x = tokens.transpose(1, 2)[..., -grid[0] * grid[1] :].unflatten(2, grid)  # [B, d, h, w]
        return self.final_norm(tokens)

    def forward(self, pictures: Float[Tensor, "B c H W"]) -> Float[Tensor, "B C"]:
        """A score for each class; pictures of any size will do."""
        return tap(self, "logits", self.output(tap(self, "pooled", self.hidden(pictures)[:, 0])))
