"""YaRN: rotary positions stretched, so that a model reads texts longer than those it was trained on.

Pairs that turned many times within the training length know only near from far and keep their
speed; pairs that never came round know where in the text they are, and are slowed down by the
factor, so that the long text fits where the short one did; between the two, a ramp. As longer texts
spread attention thinner, scores are sharpened too: cosine and sine, and so queries and keys
both, are multiplied by the attention factor (and a score by its square, 1/t in the paper).
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.pairs import Layout
from prosector.positions.rope import RotaryPosition
from prosector.positions.sinusoidal import inverse_frequencies


def pair_that_turns(turns: float, d_head: int, theta: float, length: int) -> float:
    """Which pair j makes so many full turns within the length: length · theta^(−2j/d) = 2π · turns, solved for j.

    The authors' code calls it the correction dimension.
    """
    return d_head * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(theta))


def yarn_inverse_frequencies(
    d_head: int,
    theta: float,
    factor: float,
    original_max_positions: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Float[Tensor, " d/2"]:
    """The angle by which each pair turns: (1 − r) θ_j + r θ_j / factor, with a ramp r from 0 to 1 over the pairs.

    The ramp rises evenly from the pair that turns beta_fast times in the original length (rounded down) to the
    one that turns beta_slow times (rounded up). On paper it is even in the number of turns; in the authors' code, and
    so in every model trained with it, even in the number of the pair, as here.

    Source: Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models", section 3.2,
    "NTK-by-parts", and the authors' code.
    """
    fastest = math.floor(pair_that_turns(beta_fast, d_head, theta, original_max_positions))
    slowest = math.ceil(pair_that_turns(beta_slow, d_head, theta, original_max_positions))
    # The authors bound the ramp by d − 1, though there are d/2 pairs: weights exist that were trained so.
    low, high = max(fastest, 0), min(slowest, d_head - 1)
    width = max(high - low, 0.001)

    pair = torch.arange(d_head // 2, dtype=dtype, device=device)
    ramp = ((pair - low) / width).clamp(0, 1)  # [d/2]
    kept = inverse_frequencies(d_head, theta, dtype=dtype, device=device)
    return (1 - ramp) * kept + ramp * kept / factor


def yarn_attention_factor(factor: float, mscale: float | None = None, mscale_all_dim: float | None = None) -> float:
    """What cosine and sine are multiplied by: 0.1 · ln(factor) + 1.

    With mscale and mscale_all_dim (DeepSeek's addition), (0.1 · mscale · ln(factor) + 1) divided by the same with
    mscale_all_dim.

    Raises:
        ValueError: only one of mscale and mscale_all_dim is given.

    Source: Peng et al. 2023, section 3.4.
    """
    if (mscale is None) != (mscale_all_dim is None):
        raise ValueError(
            f"mscale is {mscale} and mscale_all_dim {mscale_all_dim}; one divides the other, so give both or neither"
        )
    stretch = math.log(max(factor, 1.0))
    if mscale is None or mscale_all_dim is None:
        return 0.1 * stretch + 1
    return (0.1 * mscale * stretch + 1) / (0.1 * mscale_all_dim * stretch + 1)


class YarnPosition(RotaryPosition):
    """Rotary positions for texts `factor` times as long as the model was trained on.

    Args:
        d_head: features of a head; even.
        theta: the base that the model was trained with.
        layout: which features make a pair.
        factor: how many times longer texts become.
        original_max_positions: the length of text that the model was trained on.
        beta_fast: pairs that turn at least so often within that length keep their speed.
        beta_slow: pairs that turn at most so often are slowed down by the whole factor.
        attention_factor: what cosine and sine are multiplied by; None derives it from the factor.
        mscale: how strongly the factor sharpens (with mscale_all_dim only).
        mscale_all_dim: what that is divided by.

    Raises:
        ValueError: d_head is odd, there is no such layout, beta_fast is not above beta_slow, or the
            attention factor is given twice over.

    Source: Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models".
    """

    def __init__(
        self,
        d_head: int,
        theta: float = 10000.0,
        layout: Layout = "half-split",
        *,
        factor: float = 4.0,
        original_max_positions: int = 512,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        attention_factor: float | None = None,
        mscale: float | None = None,
        mscale_all_dim: float | None = None,
    ) -> None:
        super().__init__(d_head, theta, layout)
        if beta_fast <= beta_slow:
            raise ValueError(f"beta_fast is {beta_fast}, which must be above beta_slow, {beta_slow}")
        if attention_factor is not None and (mscale is not None or mscale_all_dim is not None):
            raise ValueError("attention_factor and mscale both say how much to sharpen; give one or the other")
        self.factor = factor
        self.original_max_positions = original_max_positions
        self.beta_fast = beta_fast
        self.beta_slow = beta_slow
        derived = yarn_attention_factor(factor, mscale, mscale_all_dim)
        self.attention_factor = derived if attention_factor is None else attention_factor

    def frequencies(self, dtype: torch.dtype, device: torch.device) -> Float[Tensor, " d/2"]:
        """The angle by which each pair turns from one position to the next, the slow ones slowed down."""
        return yarn_inverse_frequencies(
            self.d_head,
            self.theta,
            self.factor,
            self.original_max_positions,
            self.beta_fast,
            self.beta_slow,
            dtype=dtype,
            device=device,
        )

    def cos_sin(
        self, positions: Int[Tensor, "*B L"], dtype: torch.dtype
    ) -> tuple[Float[Tensor, "*B 1 L d/2"], Float[Tensor, "*B 1 L d/2"]]:
        """Cosine and sine of each position's angles, times the attention factor."""
        cos, sin = super().cos_sin(positions, dtype)
        return cos * self.attention_factor, sin * self.attention_factor
