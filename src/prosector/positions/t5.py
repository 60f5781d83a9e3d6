"""T5's relative positions: a learned number for each head and each bucket of distances.

Near distances have a bucket each; farther ones share buckets, wider and wider; beyond the
maximum all share the last. The stack computes the bias once, and all its layers use it.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from prosector.positions.base import Position
from prosector.positions.relative import key_minus_query


def require_buckets(bidirectional: bool, num_buckets: int, max_distance: int) -> None:
    """Make sure that the buckets can be shared out.

    Raises:
        ValueError: there are too few buckets, an odd number for two directions, or the farthest distance
            is among those that have a bucket each.
    """
    sides = 2 if bidirectional else 1
    if num_buckets < 2 * sides or num_buckets % sides:
        least = "an even number of at least 4" if bidirectional else "at least 2"
        raise ValueError(f"num_buckets is {num_buckets}; with bidirectional={bidirectional} it must be {least}")
    exact = num_buckets // sides // 2
    if max_distance <= exact:
        raise ValueError(
            f"max_distance is {max_distance}; it must be above {exact}, as nearer distances have a bucket each"
        )


def t5_bucket(
    key_minus_query: Int[Tensor, "..."], *, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128
) -> Int[Tensor, "..."]:
    """The bucket of each distance n: n itself if n < e, else e + ⌊(n_b − e) · ln(n/e) / ln(max_distance/e)⌋.

    That is at most n_b − 1, where n_b buckets serve one direction and e = n_b / 2 of them hold one distance each.
    In both directions n_b = num_buckets / 2, and keys after the query have the second half; in one, n_b = num_buckets,
    and keys after the query all have bucket 0.

    Args:
        key_minus_query: key position − query position, of any shape.
        bidirectional: whether keys after the query are told apart: an encoder's do, a decoder's do not.
        num_buckets: of both directions together.
        max_distance: from here on, all distances have the last bucket.

    Raises:
        ValueError: the buckets cannot be shared out.

    Source: Raffel et al. 2020, "Exploring the Limits of Transfer Learning", section 2.1, and the authors' code.
    """
    require_buckets(bidirectional, num_buckets, max_distance)
    if bidirectional:
        n_b = num_buckets // 2
        first = (key_minus_query > 0) * n_b
        distance = key_minus_query.abs()
    else:
        n_b = num_buckets
        first = torch.zeros_like(key_minus_query)
        distance = (-key_minus_query).clamp(min=0)

    exact = n_b // 2
    # At least e, as a logarithm below it is not used, and of 0 would be -inf.
    growth = torch.log(distance.clamp(min=exact).float() / exact) / math.log(max_distance / exact)
    shared = exact + (growth * (n_b - exact)).long()
    return first + torch.where(distance < exact, distance, shared.clamp(max=n_b - 1))


class T5Position(Position):
    """Adds to each score a learned number: table[bucket(key position − query position), head].

    T5 itself does not divide its scores by √d_k; whether to do so is the attention's affair, not that of positions.

    Args:
        n_heads: heads of the queries.
        bidirectional: whether keys after the query are told apart.
        num_buckets: rows of the table.
        max_distance: from here on, all distances have the last bucket.

    Raises:
        ValueError: the buckets cannot be shared out.

    Source: Raffel et al. 2020, section 2.1; the paper gives no initial values, so rows are drawn with deviation 0.02.
    """

    def __init__(self, n_heads: int, *, bidirectional: bool, num_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        require_buckets(bidirectional, num_buckets, max_distance)
        self.bidirectional = bidirectional
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.table = nn.Embedding(num_buckets, n_heads)  # weight [num_buckets, H]
        nn.init.normal_(self.table.weight, std=0.02)

    def bias(
        self, query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
    ) -> Float[Tensor, "#B H Lq Lk"]:
        """table[bucket(key position − query position)], heads second."""
        # A bucket takes a logarithm, so it is found for each distance and not for each pair; beyond the farthest
        # distance nothing changes. Heads come first, as a kernel wants each head's table in one piece.
        far = self.max_distance
        bucket = t5_bucket(
            torch.arange(-far, far + 1, device=self.table.weight.device),
            bidirectional=self.bidirectional,
            num_buckets=self.num_buckets,
            max_distance=far,
        )
        by_distance = self.table(bucket).T.contiguous()  # [H, 2 · far + 1]
        apart = key_minus_query(query_positions, key_positions).clamp(-far, far) + far  # [1 or B, Lq, Lk]
        return by_distance[:, apart].transpose(0, 1)  # [1 or B, H, Lq, Lk]
