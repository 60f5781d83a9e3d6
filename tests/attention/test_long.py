"""The kernel for long lines: equal to the arithmetic, by whichever of its ways it goes, and never forming all pairs."""

import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.attention.problems import POSITIONS, Problem, arithmetic, assert_all_close, problems
from tests.helpers import MaskAndRule, assert_same, few, sentences, tiny
from torch.utils._python_dispatch import TorchDispatchMode

from prosector.attention import KERNELS, Mask, MultiHeadAttention, Scope
from prosector.positions import AlibiPosition, Position, T5Position

blockwise = KERNELS["blockwise"]
long = sys.modules["prosector.attention.long"]


def of_length(length, position, mask, heads=4, kv_heads=2, d=16, rows=1):
    """A line of tokens that look at each other."""
    torch.manual_seed(1)
    at = torch.arange(length)
    return Problem(
        query=torch.randn(rows, heads, length, d),
        key=torch.randn(rows, kv_heads, length, d),
        value=torch.randn(rows, kv_heads, length, d),
        mask=None if mask is None else MaskAndRule(mask, None, "a mask"),
        position=POSITIONS[position](heads, d, bidirectional=mask is None),
        query_positions=at,
        key_positions=at,
        scale=None,
        wanted=torch.randn(rows, heads, length, d),
    )


# --- equal to the arithmetic -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 2, 3])
@given(problem=problems())
def test_in_blocks_of_any_size_it_equals_the_arithmetic_and_its_gradients(size, problem):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long, "BLOCK", size)
        assert_all_close(
            problem.solve(blockwise, torch.float64), problem.solve(arithmetic, torch.float64), torch.float64
        )


@few
@given(problem=problems(), causal=st.booleans())
def test_all_at_once_it_equals_the_arithmetic_and_its_gradients(problem, causal):
    """Without a mask, or causal and no more: SDPA's own ways, with ALiBi folded."""
    problem.mask = MaskAndRule(Mask.causal(), None, "causal") if causal else None
    assert_all_close(problem.solve(blockwise, torch.float64), problem.solve(arithmetic, torch.float64), torch.float64)


MASKS = {
    "none": None,
    "causal": Mask.causal(),
    "window": Mask.window(70, 0),
    "window both ways": Mask.window(40, 90),
    "window and padding": Mask.window(70, 0) & Mask.keys(torch.arange(600)[None] > 130),
    "padding": Mask.keys(torch.arange(600)[None] < 400),
    "window and first": Mask.window(70, 0) | Mask.keys(torch.arange(600)[None] < 4),
    "prefix": Mask.prefix(300),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("position", ["none", "rope", "alibi", "t5"])
def test_a_long_line_is_that_of_the_arithmetic(position, mask):
    problem = of_length(600, position, MASKS[mask])
    assert_all_close(problem.solve(blockwise, torch.float64), problem.solve(arithmetic, torch.float64), torch.float64)
    in_float32 = zip(problem.solve(blockwise, torch.float32), problem.solve(arithmetic, torch.float32), strict=True)
    for ours, theirs in in_float32:
        assert_same(ours, theirs, within=5e-5)  # a learned bias gathers 360,000 gradients in another order


def test_a_table_of_biases_gets_its_gradient_too():
    torch.manual_seed(1)
    table = torch.randn(1, 4, 600, 600, dtype=torch.float64, requires_grad=True)
    at, q = torch.arange(600), torch.randn(1, 4, 600, 8, dtype=torch.float64)
    found = [
        torch.autograd.grad(kernel(q, q, q, Scope(at, at, Mask.window(9, 30), table), None).square().sum(), table)[0]
        for kernel in (blockwise, arithmetic)
    ]
    torch.testing.assert_close(*found, rtol=0, atol=1e-10)


def test_in_bf16_with_autocast_its_gradients_are_those_of_sdpa():
    torch.manual_seed(1)
    x, wanted = torch.randn(1, 600, 32), torch.randn(1, 600, 32)
    module, at = MultiHeadAttention(32, 4, bias=False), torch.arange(600)
    found = []
    for name in ("sdpa", "blockwise"):
        module.kernel = KERNELS[name]
        with torch.autocast("cpu", torch.bfloat16):
            y = module(x, x, Scope(at, at, Mask.window(200, 0), AlibiPosition(4)))
        found.append([y, *torch.autograd.grad(y, module.parameters(), wanted.to(y.dtype))])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=0, atol=0.02 * other.abs().max().item())


@pytest.mark.parametrize("position", ["rope", "alibi", "t5", "sinusoidal"])
def test_for_every_position_a_model_of_it_learns_what_the_written_out_one_learns(position, monkeypatch):
    monkeypatch.setattr(long, "BLOCK", 3)
    src, tgt = sentences(2, 11), sentences(2, 8)
    src[1, 7:] = 0  # padding
    model = tiny(position=position, kernel="blockwise", n_kv_heads=2)
    other = tiny(position=position, kernel="written-out", n_kv_heads=2)
    other.load_state_dict(model.state_dict())
    found = []
    for each in (model, other):
        logits = each(src, tgt)
        found.append([logits, *torch.autograd.grad(logits.square().sum(), each.parameters(), allow_unused=True)])
    for ours, theirs in zip(*found, strict=True):
        assert_same(ours, theirs, within=1e-10)


@pytest.mark.parametrize("position", ["rope", "alibi", "t5"])
def test_with_a_cache_and_a_window_a_step_asks_for_the_windows_keys_and_no_others(position, monkeypatch):
    model, window = tiny(position=position, kernel="blockwise"), Mask.window(3, 0)
    tgt, memory = sentences(2, 12), torch.randn(2, 4, 16, dtype=torch.float64)
    widths, cache, steps = [], model.new_cache(), []
    monkeypatch.setattr(long, "sdpa", lambda q, k, *rest: widths.append(k.shape[2]) or KERNELS["sdpa"](q, k, *rest))
    with torch.no_grad():
        steps = [model.decode(tgt[:, i : i + 1], memory, cache=cache, mask=window) for i in range(12)]
        full = model.decode(tgt, memory, mask=window)
    torch.testing.assert_close(torch.cat(steps, dim=1), full, rtol=0, atol=1e-10)
    assert max(widths[:-2]) == 4  # itself and three back; the last two are the full line's layers


# --- ALiBi, folded ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", [8, 12])  # slopes of 8 heads are powers of two, those of 12 are not
def test_the_folded_bias_is_as_exact_at_the_end_of_a_long_line_as_at_its_beginning(heads):
    length, last = 6000, torch.tensor([2999, 5999])
    problem = of_length(length, "alibi", Mask.causal(), heads=heads, kv_heads=heads)
    (ours,) = problem.solve(blockwise, torch.float32, gradients=False)
    rows = Scope(last, torch.arange(length), Mask.causal(), problem.position)
    with torch.no_grad():
        q, k, v = (x.double() for x in (problem.query[:, :, last], problem.key, problem.value))
        exact = arithmetic(q, k, v, rows, None)
    torch.testing.assert_close(ours[:, :, last].double(), exact, rtol=0, atol=3e-6)


def test_a_folded_bias_is_not_rounded_to_bf16():
    problem = of_length(3000, "alibi", Mask.causal())
    exact = problem.solve(blockwise, torch.float32, gradients=False)[0]
    rounded = problem.solve(blockwise, torch.bfloat16, gradients=False)[0]
    torch.testing.assert_close(rounded.float(), exact, rtol=0, atol=0.05)


# --- nothing of all pairs --------------------------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that any operation gives."""

    def __init__(self):
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        results = function(*arguments, **(options or {}))
        for result in results if isinstance(results, tuple | list) else [results]:
            if isinstance(result, torch.Tensor):
                self.numbers = max(self.numbers, result.numel())
        return results


@pytest.mark.parametrize("mask", ["none", "causal", "window"])
@pytest.mark.parametrize("position", POSITIONS)
def test_for_every_position_no_tensor_grows_with_the_square_of_the_length(position, mask):
    """Twice the length, forward and backward: at most twice the numbers in the largest tensor."""
    found = []
    for length in (1024, 2048):
        problem = of_length(length, position, MASKS[mask], heads=2, kv_heads=1, d=4)
        with Largest() as largest:
            problem.solve(blockwise, torch.float32)
        found.append(largest.numbers)
    assert found[1] <= 2 * found[0]
    assert mask != "window" or found[1] < 2 * 256 * 512  # no more than a block and its reach, a head


def test_the_dense_kernels_do_form_all_pairs():
    """Guards the law above: its instrument sees them."""
    problem = of_length(600, "alibi", Mask.causal())
    with Largest() as largest:
        problem.solve(KERNELS["sdpa"], torch.float32)
    assert largest.numbers >= 600 * 600


def test_values_of_another_width_form_no_pairs_either():
    at, q, v = torch.arange(2048), torch.randn(1, 2, 2048, 8), torch.randn(1, 2, 2048, 5)
    with Largest() as largest:
        ours = blockwise(q, q, v, Scope(at, at, Mask.causal(), counted=True), None)
    assert largest.numbers < 2048 * 2048 / 4
    torch.testing.assert_close(ours, arithmetic(q, q, v, Scope(at, at, Mask.causal()), None), rtol=0, atol=1e-5)


# --- what it must not assume -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", [Position(), AlibiPosition(2), T5Position(2, bidirectional=False)])
def test_positions_that_only_somebody_else_knows_are_not_taken_for_counted(position):
    """Two texts in one line, each counted from 0: the second may look at the first one's beginning, says the rule."""
    at = torch.cat([torch.arange(400), torch.arange(200)])
    q = torch.randn(1, 2, 600, 8)
    scope = Scope(at, at, Mask.causal(), position)
    torch.testing.assert_close(blockwise(q, q, q, scope, None), arithmetic(q, q, q, scope, None), rtol=0, atol=1e-5)


@pytest.mark.parametrize("table", [(599, 600), (600, 599)])
def test_a_mask_for_another_length_is_an_error_that_names_both(table):
    at, q = torch.arange(600), torch.randn(1, 1, 600, 2)
    with pytest.raises(ValueError, match=r"599 \w+ meets? 600"):
        blockwise(q, q, q, Scope(at, at, Mask.dense(torch.ones(table, dtype=torch.bool))), None)
