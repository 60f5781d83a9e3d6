"""torch.nn's masks, read: True is *forbidden* there, floats are added to the scores, `is_causal` is said beside them.

Here they become a `Scope`: what is forbidden goes into a `Mask`, where a row that may look at nothing is safe, and
what is only added goes into the bias. Whatever two arguments contradict each other is an error.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from prosector.attention import Mask, Scope

Forbidden = Bool[Tensor, "*R Lk"] | None
Added = Float[Tensor, "*R Lk"] | None


def scope_of(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    is_causal: bool,
    rows: int,
    n_heads: int,
    n_queries: int,
    n_keys: int,
    device: torch.device,
) -> Scope:
    """What torch.nn's three arguments together allow and add.

    Args:
        attn_mask: [Lq, Lk] for all, or [B·H, Lq, Lk], the heads of a row one after the other; bool or float.
        key_padding_mask: [B, Lk]; bool or float.
        is_causal: no query may look ahead; with an attn_mask it must say the same.

    Raises:
        ValueError: a mask has another shape or type, is a 0/1 mask in floats, or contradicts is_causal.
    """
    tables = None if attn_mask is None or attn_mask.ndim == 2 else rows * n_heads
    require_shape("attn_mask", attn_mask, (n_queries, n_keys) if tables is None else (tables, n_queries, n_keys))
    require_shape("key_padding_mask", key_padding_mask, (rows, n_keys))
    forbidden, bias = divided("attn_mask", attn_mask)
    padding, padding_bias = divided("key_padding_mask", key_padding_mask)

    mask = Mask.from_torch_nn(forbidden, padding, n_heads)
    if is_causal and attn_mask is None:
        require_same_tokens(n_queries, n_keys)
        mask = Mask.causal() if mask is None else mask & Mask.causal()
    elif is_causal and forbidden is not None:
        require_causal(forbidden)
    if bias is not None:
        bias = bias[None, None] if tables is None else bias.unflatten(0, (rows, n_heads))  # [1 or B, 1 or H, Lq, Lk]
    if padding_bias is not None:
        row = padding_bias[:, None, None].expand(-1, -1, n_queries, -1)  # [B, 1, Lq, Lk]
        bias = row if bias is None else bias + row
    return Scope(
        torch.arange(n_queries, device=device),
        torch.arange(n_keys, device=device),
        mask,
        bias,
        counted=n_queries == n_keys,
    )


def divided(name: str, mask: Tensor | None) -> tuple[Forbidden, Added]:
    """What a mask forbids, and what it adds where it does not; floats can do both.

    Raises:
        ValueError: floats that are 0 and 1, which would be added to the scores and forbid nothing; or integers.
    """
    if mask is None or mask.dtype == torch.bool:
        return mask, None
    if not mask.is_floating_point():
        raise ValueError(
            f"{name} is {mask.dtype}; give bool (True is forbidden) or floats that are added to the scores"
        )
    other = ((mask != 0) & (mask != 1)).any()
    require(
        other | (mask != 1).all(),
        f"{name} is a float mask of 0s and 1s: floats are added to the scores, so it would forbid nothing; "
        f"give {name}.bool() if 1 is forbidden, {name} == 0 if 1 may be looked at",
    )
    forbidden = mask == -torch.inf
    return forbidden, mask.masked_fill(forbidden, 0.0)


def require_same_tokens(n_queries: int, n_keys: int) -> None:
    """is_causal without a mask means tokens that look at themselves and back.

    Raises:
        ValueError: there are not as many queries as keys.
    """
    if n_queries != n_keys:
        raise ValueError(
            f"is_causal=True with {n_queries} queries and {n_keys} keys does not say where the queries stand; "
            "give the mask itself, or decode with a prosector Cache, which knows positions"
        )


def require_causal(forbidden: Bool[Tensor, "*R Lq Lk"]) -> None:
    """is_causal beside a mask must say what the mask says: all that is ahead is forbidden, and nothing else.

    Raises:
        ValueError: it does not.
    """
    future = torch.ones_like(forbidden).triu(1)
    require(
        (forbidden == future).all(),
        "is_causal=True contradicts attn_mask, which forbids something else; leave is_causal out and the mask holds",
    )


def require(true: Bool[Tensor, ""], message: str) -> None:
    """What a mask's numbers must be. While compiling they are not known, and the check becomes part of the program.

    Raises:
        ValueError: they are not (a RuntimeError, from a compiled program).
    """
    if torch.compiler.is_compiling():
        torch._assert_async(true, message)
    elif true.device.type != "meta" and not true:
        raise ValueError(message)


def require_shape(name: str, mask: Tensor | None, wanted: tuple[int, ...]) -> None:
    """A mask fits the sequences.

    Raises:
        ValueError: it does not; both shapes are named.
    """
    if mask is not None and tuple(mask.shape) != wanted:
        raise ValueError(f"{name} is {list(mask.shape)}; these sequences and heads need {list(wanted)}")
