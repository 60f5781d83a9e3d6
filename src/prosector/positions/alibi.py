"""ALiBi: a score loses in proportion to the distance, and each head has its own proportion.

Steep heads look next to themselves, flat ones look far. Nothing is learned, so nothing
is unknown about a distance that training never reached.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from prosector.positions.base import Position
from prosector.positions.relative import key_minus_query


def alibi_slopes(n_heads: int, device: torch.device | None = None) -> Float[Tensor, " H"]:
    """A slope a head: 2^(−8/n), 2^(−16/n), …, 2^(−8) for n heads, if n is a power of two.

    Otherwise those of the next lower power of two come first, and what is missing is taken from those of the next
    higher one, leaving out every second.

    Raises:
        ValueError: there is no head.

    Source: Press et al. 2022, "Train Short, Test Long", section 3, and the authors' code for other numbers of heads.
    """
    if n_heads < 1:
        raise ValueError(f"n_heads is {n_heads}; ALiBi has a slope for each head")
    power = 2 ** (n_heads.bit_length() - 1)  # the largest power of two that is not above n_heads
    number = torch.arange(power, dtype=torch.float32, device=device)
    own = -8 / power * (number + 1)  # exponents of 2
    filled = -4 / power * (2 * number[: n_heads - power] + 1)
    return torch.cat([own, filled]).exp2()  # [H]


def alibi_bias(
    query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"], slopes: Float[Tensor, " H"]
) -> Float[Tensor, "#B H Lq Lk"]:
    """−slope · |i − j|: 0 for a token itself, and lower the farther.

    The paper has keys of the past only, where |i − j| = i − j; the same on both sides lets an encoder use it.
    """
    distance = key_minus_query(query_positions, key_positions).abs()  # [1 or B, Lq, Lk]
    return -slopes[:, None, None] * distance[:, None]  # [1 or B, H, Lq, Lk]


class AlibiPosition(Position):
    """Subtracts slope × distance from the scores, with a fixed slope for each head.

    Args:
        n_heads: heads of the queries.

    Raises:
        ValueError: there is no head.

    Source: Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases".
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        alibi_slopes(n_heads)  # a wrong number is an error here, not in the first forward
        self.n_heads = n_heads

    def bias(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> Float[Tensor, "#B H Lq Lk"]:
        """−slope · |i − j|, in float32."""
        # Slopes are computed anew in each pass: a buffer of them would be rounded by `model.bfloat16()`.
        return alibi_bias(query_positions, key_positions, alibi_slopes(self.n_heads, query_positions.device))

    def fold(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> tuple[Float[Tensor, "#B H Lq 4"], Float[Tensor, "#B 1 Lk 4"]]:
        """[m, −m · i] · [j, 1] = −m (i − j), the bias if j ≤ i.

        m · i and m · j are large and their difference is small, so they must not be rounded: the slope is split into
        m = m₁ + m₂, where m₁ has the eight digits of a bf16 number and m₁ · j is exact for positions up to 65,536.
        """
        slopes = alibi_slopes(self.n_heads, query_positions.device)
        coarse = slopes.bfloat16().float()
        i = torch.atleast_2d(query_positions)[:, None].float()  # [1 or B, 1, Lq]
        j = torch.atleast_2d(key_positions)[:, None].float()
        parts = [part[:, None] for part in (coarse, slopes - coarse)]  # each [H, 1]
        of_query = torch.stack([x for m in parts for x in (m.expand(len(i), -1, i.shape[-1]), -m * i)], dim=-1)
        of_key = torch.stack([j, torch.ones_like(j)] * 2, dim=-1)
        return of_query, of_key  # [1 or B, H, Lq, 4], [1 or B, 1, Lk, 4]
