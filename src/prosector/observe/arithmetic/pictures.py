"""Pictures written out: convolutions and their norms, U-Nets, gates, patches, neighbourhoods.

    out[c, i, j] = Σ over channels and a window of  weight[c] · in  + b          what lies outside the picture is 0

Shapes: of one picture, [C, H, W]; a place is (channel, row, column).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from prosector.blocks.conv_attention import Neighbourhood
from prosector.observe.arithmetic.layers import named
from prosector.observe.arithmetic.lines import Addend, Dot, Function, Line, Name, Normed, Product, Same
from prosector.observe.arithmetic.run import Run, bias_of, numbers, unknown, weight_of

Picture = Float[Tensor, "C H W"]


def at(text: str, *place: int) -> Name:
    """A name with its place."""
    where = ", ".join(map(str, place))
    return Name(f"{text}[{where}]", rf"\text{{{text.replace('_', ' ')}}}_{{{where.replace(' ', '')}}}")


def window(convolution: nn.Conv2d, x: Picture, channel: int, row: int, column: int) -> list[float]:
    """What a convolution looks at for one of its outputs, in the order of its weights."""
    height, width = convolution.kernel_size
    down, across = convolution.stride
    top, left = map(int, convolution.padding)
    if convolution.groups > 1:  # each channel by itself
        x = x[channel : channel + 1]
    padded = F.pad(x, (left, left, top, top))
    first, start = row * down, column * across
    return numbers(padded[:, first : first + height, start : start + width].flatten())


def convolved(name: Name, convolution: nn.Conv2d, x: Picture, *place: int) -> Dot:
    """One output of a convolution: Σ weight · window + b."""
    bias = bias_of(convolution, place[0])  # type: ignore[arg-type]
    added = [] if bias is None else [Addend("b", bias)]
    weights = weight_of(convolution, place[0])  # type: ignore[arg-type]
    return Dot(name, window(convolution, x, *place), weights, added=added)


def whole(convolution: nn.Conv2d, x: Picture) -> Picture:
    """All its outputs, in float64."""
    bias = None if convolution.bias is None else convolution.bias.detach().double()
    weight = convolution.weight.detach().double()
    return F.conv2d(x[None], weight, bias, convolution.stride, convolution.padding, groups=convolution.groups)[0]


def normed(norm: nn.Module, convolution: nn.Conv2d, x: Picture, before: float, *place: int) -> list[Line]:
    """The norm of a picture: by batch norm's running statistics, or by those of a group of channels."""
    channel = place[0]
    known: Any = norm
    if isinstance(norm, nn.Identity):
        return []
    if isinstance(norm, nn.BatchNorm2d):
        mean, variance = known.running_mean[channel].item(), known.running_var[channel].item()
    else:
        size = known.num_channels // known.num_groups
        group = whole(convolution, x).unflatten(0, (known.num_groups, size))[channel // size]
        mean, variance = group.mean().item(), group.var(correction=0).item()
    weight, bias = known.weight[channel].item(), known.bias[channel].item()
    return [Normed(at("norm", *place), before, mean, variance, known.eps, weight, bias)]


# --- U-Nets ------------------------------------------------------------------------------------------------------


def double_convolution(run: Run, path: str, what: str, *place: int) -> list[Line]:
    """ReLU(norm(conv(x))): the first of two, or the second."""
    module = run.module(path)
    x = run.get(f"{path}.hidden") if not what else entering(run, path)
    convolution, norm = (module.first, module.norm1) if what else (module.second, module.norm2)
    lines: list[Line] = [convolved(at("convolution", *place), convolution, x, *place)]
    lines += normed(norm, convolution, x, lines[0].value, *place)
    return [*lines, Function(at(what or "output", *place), "relu", lines[-1].value)]


def entering(run: Run, path: str) -> Picture:
    """What a level of a U-Net is given: the picture; the level above, halved; a skip connection and what is raised."""
    level = int(path.removeprefix("down").removeprefix("up"))
    if path == "down0":
        return run.get("pictures")
    if path.startswith("down"):
        return F.max_pool2d(run.get(f"down{level - 1}")[None], 2)[0]
    skip = run.get(f"gate{level}" if f"gate{level}" in run.seen else f"down{level}")
    return torch.cat([skip, run.get(f"raise{level}")])


def below(run: Run, level: int) -> Picture:
    """The level from which a level is raised and its gate is steered."""
    depth = run.seen.model.config.depth  # type: ignore[union-attr]
    return run.get(f"down{depth}" if level + 1 == depth else f"up{level + 1}")


def gate(run: Run, path: str, what: str, *place: int) -> list[Line]:
    """σ(ψ · ReLU(W_x x + W_g g + b) + b_ψ), of which the first channel is written out; and what passes."""
    module, level = run.module(path), int(path.removeprefix("gate"))
    skip = run.get(f"down{level}")
    channel, row, column = place
    if not what:
        alpha = run.get(f"{path}.coefficients")[0, row, column].item()
        return [Product(at("passes", *place), skip[place].item(), alpha)]
    coarse = whole(module.g, below(run, level))
    raised = F.interpolate(coarse[None], size=skip.shape[-2:], mode="bilinear", align_corners=False)[0][:, row, column]
    met = whole(module.x, skip)[:, row, column] + raised
    first = Dot(
        at("meet", 0, row, column), numbers(skip[:, row, column]), weight_of(module.x, 0),
        added=[Addend("W_g g + b", raised[0].item())],
    )  # fmt: skip
    rectified = Function(at("open", 0, row, column), "relu", first.value)
    bias = Addend("b", module.bias.item())
    inside = Dot(at("inner", row, column), numbers(met.relu()), numbers(module.psi.detach()), added=[bias])
    return [first, rectified, inside, Function(at("coefficient", row, column), "sigmoid", inside.value)]


def of_unet(run: Run, what: str, *place: int) -> list[Line]:
    """What is raised to a finer level, the features at full resolution, and the classes.

    Raises:
        ValueError: it is none of them.
    """
    model: Any = run.seen.model
    channel, row, column = place
    if what == "hidden":
        return [Same(at("hidden", *place), run.get("up0")[place].item())]
    if what == "logits":
        return [convolved(at("logit", *place), model.output, run.get("hidden"), *place)]
    if what.startswith("raise"):
        module = getattr(model, what)
        x = below(run, int(what.removeprefix("raise")))[:, row // 2, column // 2]
        weights = module.weight.detach()[:, channel, row % 2, column % 2]
        bias = Addend("b", module.bias[channel].item())
        return [Dot(at("raised", *place), numbers(x), numbers(weights), added=[bias])]
    return unknown(what)


# --- pictures as sentences ---------------------------------------------------------------------------------------


def patch(run: Run, *place: int) -> list[Line]:
    """A linear map of the numbers of a patch."""
    model: Any = run.seen.model
    return [convolved(at("patch", *place), model.patches, run.get("pictures"), *place)]


def grid_of(run: Run, stage: str, tokens: Float[Tensor, "L d"]) -> Picture:
    """A stage's tokens as a picture, without those that stand before them."""
    height, width = run.get(f"{stage}.embed").shape[1:]
    return tokens[-height * width :].T.unflatten(1, (height, width))


def stage(run: Run, path: str, what: str, *place: int) -> list[Line]:
    """What comes into a stage of a ConvTransformer, and out of it.

    Raises:
        ValueError: it is neither.
    """
    module = run.module(path)
    number = int(path.removeprefix("stage"))
    if what == "embed":
        before = f"stage{number - 1}"
        x = grid_of(run, before, run.get(before)) if number else run.get("pictures")
        return [convolved(at("token", *place), module.embed, x, *place)]
    row, column = place
    if what == "input":
        n_prefix = len(module.prefix)
        vector = run.vector(f"{path}.norm", row - n_prefix) if row >= n_prefix else module.prefix[row].detach()
        return [Same(named("input", row, column), float(vector[column]))]
    if not what:
        return [Same(named("output", row, column), run.vector(f"{path}.{module.n_layers - 1}", row)[column].item())]
    return unknown(f"{path}.{what}")


def neighbourhood(run: Run, path: str, row: int, column: int) -> list[Line]:
    """norm(depthwise convolution), feature by feature; a class token passes."""
    module: Neighbourhood = run.module(path)
    layer, _, _ = path.rpartition(".attention.")
    tokens = run.get(f"{layer}.norm1")
    x = grid_of(run, layer.partition(".")[0], tokens)
    n_prefix = len(tokens) - x[0].numel()
    if row < n_prefix:
        return [Same(named("class token", row, column), tokens[row, column].item())]
    width = whole(module.gather, x).shape[2]
    place = (column, *divmod(row - n_prefix, width))
    gathered = convolved(at("gathered", *place), module.gather, x, *place)
    return [gathered, *normed(module.norm, module.gather, x, gathered.value, *place)]
