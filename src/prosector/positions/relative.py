"""How far each key is from each query: what biases on the scores are made of."""

from jaxtyping import Int
from torch import Tensor


def key_minus_query(
    query_positions: Int[Tensor, "*B Lq"], key_positions: Int[Tensor, "*B Lk"]
) -> Int[Tensor, "#B Lq Lk"]:
    """Key position − query position for every pair; negative where the key comes first.

    Elementwise in the real positions, so it is right for any block of pairs, with padding on the left and with a
    cache. The first size is 1 where all rows have the same positions.
    """
    relative = key_positions[..., None, :] - query_positions[..., :, None]  # [*B, Lq, Lk]
    return relative if relative.dim() == 3 else relative[None]
