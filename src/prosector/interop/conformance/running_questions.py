"""What should not depend on how a module is run: modes, hooks, compiling; asked of torch.nn and of `prosector.nn`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from prosector.interop.conformance.questions import OTHERS, SAME, asked, in_modes, layer, run_in
from prosector.interop.conformance.report import Text

FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)
PADDING = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]], dtype=torch.bool)

SUM_TO_ONE, DROPPED = (
    Text("each row sums to 1", "每行之和为 1"),
    Text("some dropped, the rest scaled", "丢弃一些，放大其余"),
)
EVERY, OUTERMOST = Text("every module's", "每个模块的"), Text("the outermost alone", "只有最外层的")
NONE, WARNS = Text("none", "没有"), Text("a warning", "有警告")
DISTINCT = Text("distinct", "各不相同")


def weights_in_training(nn: ModuleType) -> Text:
    """The weights that are returned while weights are dropped."""
    x = torch.randn(2, 4, 8)
    _, weights = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True).train()(x, x, x)
    return SUM_TO_ONE if torch.allclose(weights.sum(-1), torch.ones(2, 4), atol=1e-5) else DROPPED


def evaluated_twice(nn: ModuleType) -> Text:
    """A layer with dropout, in evaluation."""
    module, x = layer(nn, dropout=0.5).eval(), torch.randn(2, 4, 8)
    return SAME if torch.equal(module(x), module(x)) else OTHERS


def hooks(nn: ModuleType, mode: str) -> Text:
    """Whose forward hooks are called, of the modules that have weights."""
    module, met = layer(nn), set()
    for name, part in module.named_modules():
        part.register_forward_hook(lambda *_, name=name: met.add(name))
    run_in(mode, module, torch.randn(2, 4, 8))
    with_weights = {name for name, part in module.named_modules() if list(part.parameters())}
    missed = sorted(with_weights - met)
    return Text(f"not those of {', '.join(missed)}", f"缺 {'、'.join(missed)}") if missed else EVERY


def global_hook(nn: ModuleType) -> Text:
    """Which modules a hook for all modules meets in evaluation without gradients."""
    module, met = layer(nn), set()
    handle = torch.nn.modules.module.register_module_forward_hook(lambda part, *_: met.add(id(part)))
    try:
        run_in("no gradients", module, torch.randn(2, 4, 8))
    finally:
        handle.remove()
    return EVERY if all(id(part) in met for part in (module.linear1, module.linear2, module.norm1)) else OUTERMOST


def first_weights(nn: ModuleType) -> Text:
    """The layers of a new stack."""
    first, second = nn.TransformerEncoder(layer(nn), 2).layers
    return SAME if torch.equal(first.linear1.weight, second.linear1.weight) else DISTINCT


def compiled(nn: ModuleType) -> Text:
    """A layer with both masks, compiled as one graph, in training."""
    module, x = layer(nn), torch.randn(2, 4, 8)
    whole = torch.compile(module, fullgraph=True, backend="eager")
    masks = {"src_mask": FUTURE, "src_key_padding_mask": PADDING}
    return SAME if torch.allclose(whole(x, **masks), module(x, **masks), atol=1e-5) else OTHERS


def exported(nn: ModuleType) -> Text:
    """A layer exported for any batch and length, and called with another."""
    module, x = layer(nn).eval(), torch.randn(2, 4, 8)
    row, token = torch.export.Dim("row"), torch.export.Dim("token")
    shapes = {"src": {0: row, 1: token}, "src_key_padding_mask": {0: row, 1: token}}
    program = torch.export.export(module, (x,), {"src_key_padding_mask": PADDING}, dynamic_shapes=shapes).module()
    other, padding = torch.randn(3, 6, 8), torch.arange(6).expand(3, -1) > 3
    found = program(other, src_key_padding_mask=padding)
    return SAME if torch.allclose(found, module(other, src_key_padding_mask=padding), atol=1e-5) else OTHERS


def warned(call: Callable[[], Any]) -> Text:
    """Whether a call warns."""
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        call()
    return WARNS if met else NONE


def default_stack(nn: ModuleType) -> Text:
    """A stack of default layers, built."""
    return warned(lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2))


def usual_masks(nn: ModuleType) -> Text:
    """`generate_square_subsequent_mask` beside a padding mask of bools."""
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    return warned(lambda: layer(nn)(torch.randn(2, 4, 8), src_mask=mask, src_key_padding_mask=PADDING))


RUNNING_QUESTIONS = [
    asked("weights returned while weights are dropped", "训练中有丢弃时返回的权重", weights_in_training, SUM_TO_ONE),
    asked("a layer with dropout evaluated twice", "带丢弃的层评估两次", evaluated_twice, SAME),
    *in_modes(
        "forward hooks that are called, of modules with weights",
        "被调用的前向钩子（有权重的模块）",
        hooks,
        EVERY,
        modes=("training", "no gradients"),
    ),
    asked(
        "what a hook for all modules meets, evaluation without gradients",
        "对所有模块的钩子遇到谁，评估，无梯度",
        global_hook,
        EVERY,
    ),
    asked("first weights of a stack's layers", "堆叠各层的初始权重", first_weights, DISTINCT),
    asked("a layer with both masks, compiled as one graph", "带两种掩码的层，编译成一张图", compiled, SAME),
    asked("a layer exported for any batch and length", "导出的层，批次和长度任意", exported, SAME),
    asked("warnings: a stack of default layers", "警告：默认层的堆叠", default_stack, NONE),
    asked("warnings: its own causal mask and bool padding", "警告：它自己的因果掩码加布尔填充", usual_masks, NONE),
]
