"""Whether a position of the user's own keeps to the shapes, asked once when it is built and not in the tenth layer."""

import torch
from torch import Tensor

from prosector.positions.base import Position


def check_shapes(position: Position, d_model: int, n_heads: int, d_head: int) -> None:
    """Try the methods on one token after two others, as a step of decoding does.

    Raises:
        ValueError: a method returns another shape than it must; class, method and both shapes are named. Or the
            features that a bias is folded into do not make that bias.
    """
    one, three = torch.tensor([2]), torch.arange(3)
    x = torch.zeros(1, 3, d_model)
    query, key = torch.zeros(1, n_heads, 1, d_head), torch.zeros(1, n_heads, 3, d_head)
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        _expect(position, "embed", [position.embed(x, three)], [x])
        _expect(position, "rotate", position.rotate(query, key, one, three), [query, key])
        bias, features = position.bias(one, three), position.fold(one, three)
    if bias is not None and shape_of(bias) not in {(1, heads, 1, 3) for heads in (1, n_heads)}:
        raise ValueError(
            f"{type(position).__name__}.bias returns {shape_of(bias)} for 1 query and 3 keys; it must return "
            f"[1, {n_heads} or 1 (heads), 1, 3], or None"
        )
    if features is not None:
        of_query, of_key = features
        product = of_query @ of_key.transpose(-2, -1)
        if bias is None or not torch.allclose(product.broadcast_to(bias.shape), bias, atol=1e-4):
            raise ValueError(
                f"{type(position).__name__}.fold is not its bias: the features make {product.tolist()}, and bias is "
                f"{None if bias is None else bias.tolist()}; change one of them, or let fold return None"
            )


def _expect(position: Position, method: str, results: object, like: list[Tensor]) -> None:
    """The results are tensors of these shapes."""
    found = [shape_of(result) for result in results] if isinstance(results, list | tuple) else [shape_of(results)]
    if found != (wanted := [shape_of(tensor) for tensor in like]):
        raise ValueError(
            f"{type(position).__name__}.{method} returns {', '.join(map(str, found))}; "
            f"it must return {', '.join(map(str, wanted))}, the shape of what it is given"
        )


def shape_of(value: object) -> object:
    """A tensor's shape, anything else's type."""
    return tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
