"""The attention gate: a picture's coarse features say where its fine ones matter.

    α = σ(ψᵀ ReLU(W_x x + W_g g + b) + b_ψ)            one number in 0..1 at every place
    x̂ = α · x                                          what passes on

x comes over a skip connection, fine in space and poor in meaning; g from the coarser level below, the other
way round. It is additive attention with a sigmoid in the place of the softmax: places do not compete
(Oktay et al. 2018, "Attention U-Net: Learning Where to Look for the Pancreas", section 2.2).

Shapes: B batch, C channels, H and W height and width.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.tap import tap


def gate_coefficients(
    x: Float[Tensor, "B a H W"], g: Float[Tensor, "B a H W"], psi: Float[Tensor, " a"], bias: Float[Tensor, ""]
) -> Float[Tensor, "B 1 H W"]:
    """σ(ψ · ReLU(x + g) + b) at every place, of projected features."""
    return torch.einsum("bahw,a->bhw", (x + g).relu(), psi)[:, None].add(bias).sigmoid()


class AttentionGate(nn.Module):
    """A gate on a skip connection.

    Args:
        d_x: channels of the skip connection.
        d_g: channels of the gating signal.
        d_hidden: channels in which the two meet; half of d_x by default, as in the paper.
    """

    def __init__(self, d_x: int, d_g: int, d_hidden: int | None = None) -> None:
        super().__init__()
        d_hidden = d_hidden or max(1, d_x // 2)
        self.x = nn.Conv2d(d_x, d_hidden, kernel_size=1, bias=False)
        self.g = nn.Conv2d(d_g, d_hidden, kernel_size=1)
        self.psi = nn.Parameter(torch.empty(d_hidden).uniform_(-1, 1) / d_hidden**0.5)
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, x: Float[Tensor, "B d_x H W"], g: Float[Tensor, "B d_g h w"]) -> Float[Tensor, "B d_x H W"]:
        """x, dimmed where the gating signal finds it irrelevant.

        The paper lets the two meet at g's resolution and brings α up to x's. Here g's projection is brought up, so that
        α is formed at every place of x.
        """
        coarse = F.interpolate(self.g(g), size=x.shape[-2:], mode="bilinear", align_corners=False)
        coefficients = gate_coefficients(self.x(x), coarse, self.psi, self.bias)  # [B, 1, H, W]
        return tap(self, "", x * tap(self, "coefficients", coefficients))
