"""Taps in attention: who only looks changes no bit, and who changes something changes all that follows."""

import threading

import pytest
import torch
from tests.helpers import Watch, stirred, watching

from prosector import tap
from prosector.attention import KERNELS, Mask, MultiHeadAttention, Scope, functional

kernels = pytest.mark.parametrize("kernel", KERNELS)
NAMES = ["query", "key", "value", "scores", "weights", "heads", ""]


def attention(kernel, **options):
    torch.manual_seed(0)
    return stirred(MultiHeadAttention(12, 4, n_kv_heads=2, kernel=KERNELS[kernel], **options)).requires_grad_(False)


def problem(seed=0):
    torch.manual_seed(seed)
    mask = Mask.causal() & Mask.keys(torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 0]]).bool())
    x = torch.randn(2, 5, 12)
    return x, x, Scope(torch.arange(5), torch.arange(5), mask, torch.randn(1, 4, 5, 5))


@kernels
def test_an_observer_that_records_changes_no_bit(kernel):
    module = attention(kernel)
    alone = module(*problem())
    with watching(Watch()) as watch:
        observed = module(*problem())
    assert torch.equal(alone, observed)
    assert {name for _, name, _ in watch.seen} == {*NAMES, "recomputed"}


@pytest.mark.parametrize("kernel", ["sdpa", "written-out"])
def test_an_observer_that_records_changes_no_bit_of_a_gradient(kernel):
    def gradients():
        module = attention(kernel).requires_grad_()
        module(*problem()).square().sum().backward()
        return [p.grad for p in module.parameters()]

    alone = gradients()
    with watching(Watch()):
        observed = gradients()
    assert all(map(torch.equal, alone, observed))


def test_an_observer_that_records_drops_the_same_weights():
    """Recording draws no random number, so that training goes on as it would have."""
    for rate in (0.0, 0.5):
        module = attention("sdpa", dropout=rate).train()
        torch.manual_seed(5)
        alone, after = module(*problem()), torch.rand(1)
        with watching(Watch()):
            torch.manual_seed(5)
            assert torch.equal(module(*problem()), alone)
            assert torch.equal(torch.rand(1), after)


@kernels
def test_what_is_recorded_is_the_arithmetic(kernel):
    module, (x, source, scope) = attention(kernel), problem()
    with watching(Watch()) as watch:
        out = module(x, source, scope)
    [query], [key], [value], [scores], [weights], [heads], [recomputed] = (
        watch.values(module, name) for name in ("query", "key", "value", "scores", "weights", "heads", "recomputed")
    )
    assert torch.equal(query, functional.split_heads(module.query(x), 4))
    key, value = functional.share_heads(key, 4), functional.share_heads(value, 4)
    torch.testing.assert_close(scores, functional.scaled_scores(query, key, bias=scope.bias))
    torch.testing.assert_close(weights, functional.softmax_over_keys(scores, scope.may_look))
    torch.testing.assert_close(heads, weights @ value)
    torch.testing.assert_close(watch.values(module, "")[0], out, rtol=0, atol=0)
    assert recomputed.item() < 1e-5  # how far the kernel's heads are from these weights times these values


@kernels
@pytest.mark.parametrize("name", NAMES)
def test_for_every_tap_an_edit_reaches_the_output(kernel, name):
    module = attention(kernel)
    plain = module(*problem())
    with watching(Watch({(module, name): lambda value: value + torch.rand_like(value)})):
        edited = module(*problem())
    assert (edited - plain).abs().max() > 0.01


@kernels
def test_weights_that_are_put_in_place_of_others_are_those_that_mix(kernel):
    """Every head of every query is told to look at the first key alone: its output is the first value."""
    module, (x, source, scope) = attention(kernel), problem()
    first = torch.eye(5)[0].expand(2, 4, 5, 5)
    with watching(Watch({(module, "weights"): lambda weights: first})):
        out = module(x, source, scope)
    value = functional.share_heads(functional.split_heads(module.value(source[:, :1]), 2), 4)  # [B, H, 1, d_v]
    by_hand = module.output(functional.merge_heads(value)).expand(2, 5, 12)
    torch.testing.assert_close(out, by_hand)


@kernels
def test_a_score_of_minus_infinity_hides_a_key(kernel):
    module, (x, source, scope) = attention(kernel), problem()
    hidden = scope.may_look & (torch.arange(5) != 2)
    with watching(Watch({(module, "scores"): lambda scores: scores.masked_fill(~hidden, -1e30)})):
        out = module(x, source, scope)
    scope = Scope(scope.query_positions, scope.key_positions, Mask.dense(hidden), scope.bias)
    some = hidden.any(-1)[:, 0]
    torch.testing.assert_close(out[some], module(x, source, scope)[some])


def test_without_an_observer_a_tap_is_the_identity():
    x = torch.randn(2)
    assert tap.current_observer() is None
    assert tap.tap(torch.nn.Identity(), "anything", x) is x


def test_two_threads_of_one_model_one_observing_never_mix():
    module = attention("sdpa")
    mine, others = problem(1), problem(2)
    plain_mine, plain_others = module(*mine), module(*others)
    watch = Watch({(module, "weights"): lambda weights: weights * 0})
    meet, results = threading.Barrier(2, timeout=20), {"observed": [], "alone": []}

    def observed():
        with watching(watch):
            for _ in range(30):
                meet.wait()
                results["observed"].append(module(*mine))

    def alone():
        for _ in range(30):
            meet.wait()
            results["alone"].append(module(*others))

    threads = [threading.Thread(target=observed), threading.Thread(target=alone)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results["observed"]) == len(results["alone"]) == 30
    assert all(torch.equal(result, plain_others) for result in results["alone"])
    nothing = module.output.bias.expand_as(plain_mine)
    assert all(torch.equal(result, nothing) for result in results["observed"])
    queries = watch.values(module, "query")
    assert len(queries) == 30
    assert all(torch.equal(query, functional.split_heads(module.query(mine[0]), 4)) for query in queries)
    assert torch.equal(module(*mine), plain_mine)  # and nobody observes any more
