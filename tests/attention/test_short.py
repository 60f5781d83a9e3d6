"""The kernel for short lines: what it gives under autocast, what it keeps, and what layers share."""

import pytest
import torch
from tests.attention.problems import arithmetic

from prosector.attention import KERNELS, Mask, Scope, functional
from prosector.positions import T5Position

written_out = KERNELS["written-out"]


def problem(dtype=torch.float32, rows=3, heads=4, kv_heads=2, queries=7, keys=9, d=8):
    torch.manual_seed(1)
    sizes = (rows, heads, queries, d), (rows, kv_heads, keys, d), (rows, kv_heads, keys, d)
    scope = Scope(torch.arange(queries), torch.arange(keys), Mask.keys(torch.rand(rows, keys) < 0.7))
    return [torch.randn(size).to(dtype).requires_grad_() for size in sizes], scope


def solved(kernel, dtype=torch.float32, autocast=False, scale=None):
    leaves, scope = problem(dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        output = kernel(*leaves, scope, scale)
    output.float().sin().sum().backward()
    return output, [leaf.grad for leaf in leaves]


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("dtype, autocast", [(torch.float32, True), (torch.bfloat16, False), (torch.bfloat16, True)])
def test_in_bf16_it_is_the_arithmetic_within_what_bf16_can_say(dtype, autocast, scale):
    exact, exact_gradients = solved(arithmetic, scale=scale)
    output, gradients = solved(written_out, dtype, autocast, scale)
    assert output.dtype == torch.bfloat16
    within = {"rtol": 0.05, "atol": 0.05}
    torch.testing.assert_close(output.float(), exact, **within)
    for ours, theirs in zip(gradients, exact_gradients, strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours.float(), theirs, **within)


def test_float64_stays_what_it_is_under_autocast():
    output, _ = solved(written_out, torch.float64, autocast=True)
    assert output.dtype == torch.float64
    torch.testing.assert_close(output, solved(arithmetic, torch.float64)[0], rtol=0, atol=1e-12)


def test_it_keeps_the_weights_once():
    leaves, scope = problem(kv_heads=4)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x.numel()) or x, lambda x: x):
        written_out(*leaves, scope, None)
    assert sorted(kept)[-4:] == sorted([*(leaf.numel() for leaf in leaves), 3 * 4 * 7 * 9])
    assert sum(sorted(kept)[:-4]) <= 3 * 7 * 9 + 3 * 7  # and, for all layers together, what is added


@pytest.mark.parametrize("linear", [True, False])
def test_gradients_of_gradients_are_those_of_the_arithmetic(linear):
    position = T5Position(4, bidirectional=True, num_buckets=8, max_distance=9).double()
    found = []
    for kernel in (written_out, arithmetic):
        leaves, scope = problem(torch.float64)
        scope = Scope(scope.query_positions, scope.key_positions, scope.mask, position)
        output = kernel(*leaves, scope, None)
        loss = output.sum() if linear else output.sin().sum()
        leaves += list(position.parameters())
        first = torch.autograd.grad(loss, leaves, create_graph=True)
        found.append([*first, *torch.autograd.grad(sum(x.sin().sum() for x in (output, *first)), leaves)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [{"queries": 0}, {"keys": 0}, {"rows": 0}, {"queries": 0, "keys": 0}])
def test_with_nothing_to_look_at_or_to_look_it_is_the_arithmetic(sizes):
    leaves, scope = problem(kv_heads=4, **sizes)
    scope = Scope(scope.query_positions, scope.key_positions)
    output = written_out(*leaves, scope, None)
    assert torch.equal(output, functional.attention(*leaves))
    output.sum().backward()
    assert all(leaf.grad is not None for leaf in leaves)


def test_one_row_of_keys_serves_all_queries():
    (query, key, value), scope = problem(kv_heads=4)
    free = Scope(scope.query_positions, scope.key_positions)
    ours = written_out(query, key[:1], value[:1], free, None)
    torch.testing.assert_close(ours, functional.attention(query, key[:1], value[:1]))


# --- what is added, once for all layers ------------------------------------------------------------------------------


def test_layers_share_what_is_added_and_its_gradient_is_the_sum_of_theirs():
    position = T5Position(4, bidirectional=True, num_buckets=8, max_distance=9).double()
    (query, key, value), scope = problem(torch.float64)
    gradients = []
    for kernel in (written_out, arithmetic):
        shared = Scope(scope.query_positions, scope.key_positions, scope.mask, position)
        output = kernel(query, key, value, shared, None)
        output = kernel(output, key, value, shared, 2.0)
        gradients += torch.autograd.grad(output.sin().sum(), list(position.parameters()))
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


def test_it_is_made_once_for_a_type_and_anew_where_gradients_are_wanted():
    position = T5Position(4, bidirectional=True, num_buckets=8, max_distance=9)
    (query, *_), scope = problem()
    scope = Scope(scope.query_positions, scope.key_positions, scope.mask, position)
    with torch.no_grad():
        added, _ = scope.added_to(query)
        assert scope.added_to(query)[0] is added
        assert not added.requires_grad
    assert scope.added_to(query)[0].requires_grad
    assert scope.added_to(query.double())[0].dtype == torch.float64


def test_whoever_may_look_nowhere_is_said_apart_and_nobody_if_all_may_look_somewhere():
    (query, *_), scope = problem()
    may_look = torch.ones(3, 7, 9, dtype=torch.bool)
    may_look[1, 2] = False
    nobody = Scope(scope.query_positions, scope.key_positions, Mask.dense(torch.ones(7, 9, dtype=torch.bool)))
    added, some = nobody.added_to(query)
    assert not added.any()
    assert some is None
    added, some = Scope(scope.query_positions, scope.key_positions, Mask.dense(may_look)).added_to(query)
    assert not added.any()
    assert (some == 0).nonzero().tolist() == [[1, 0, 2, 0]]


def test_without_mask_and_bias_nothing_is_added():
    (query, key, value), scope = problem(kv_heads=4)
    free = Scope(scope.query_positions, scope.key_positions)
    assert free.added_to(query) == (None, None)
    torch.testing.assert_close(written_out(query, key, value, free, None), functional.attention(query, key, value))
