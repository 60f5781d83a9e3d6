"""The loss: in chunks, at once, and as the one-hot form that the books have, it is the same."""

from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.training import loss
from prosector.training.loss import chunked_cross_entropy, label_smoothed_cross_entropy

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
dtypes = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


def one_hot_form(logits, labels, smoothing):
    """- Σ_v q_v log p_v with q written out, the mean over labels that are not padding; 0 if there is none."""
    V = logits.shape[-1]
    q = (1 - smoothing) * torch.nn.functional.one_hot(labels, V).to(logits.dtype) + smoothing / V
    losses = -(q * logits.log_softmax(-1)).sum(-1)
    real = labels != 0
    return losses[real].sum() / max(int(real.sum()), 1)


@st.composite
def problems(draw):
    """Hidden vectors [B, L, d], a table [V, d], labels with padding anywhere, and a smoothing."""
    B, L, d, V = (draw(st.integers(1, most)) for most in (3, 6, 5, 9))
    torch.manual_seed(draw(st.integers(0, 999)))
    labels = torch.randint(1, V + 1, (B, L)) % V  # V stands for padding
    labels = labels * (torch.rand(B, L) < draw(st.sampled_from([0.0, 0.6, 1.0])))
    return torch.randn(B, L, d), 2 * torch.randn(V, d), labels, draw(st.sampled_from([0.0, 0.1, 0.7]))


def value_and_gradients(hidden, weight, dtype, compute):
    hidden, weight = hidden.to(dtype).requires_grad_(), weight.to(dtype).requires_grad_()
    value = compute(hidden, weight)
    return [value, *torch.autograd.grad(3 * value, (hidden, weight))]


@dtypes
@given(problems(), st.integers(1, 20))
def test_for_every_size_of_chunk_the_three_forms_agree_and_their_gradients(dtype, problem, chunk):
    hidden, weight, labels, smoothing = problem
    forms = [
        lambda h, w: chunked_cross_entropy(h, w, labels, smoothing),
        lambda h, w: label_smoothed_cross_entropy(h @ w.T, labels, smoothing),
        lambda h, w: one_hot_form(h @ w.T, labels, smoothing),
    ]
    with patch.object(loss, "CHUNK", chunk), patch.object(loss, "BLOCK", 1 + chunk // 3):
        chunked, plain, by_the_book = (value_and_gradients(hidden, weight, dtype, form) for form in forms)
    for ours, theirs in [*zip(chunked, by_the_book, strict=True), *zip(plain, by_the_book, strict=True)]:
        torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@given(problems())
def test_it_is_pytorchs_with_padding_left_out(problem):
    hidden, weight, labels, smoothing = problem
    logits = (hidden @ weight.T).double()
    ours = label_smoothed_cross_entropy(logits, labels, smoothing)
    theirs = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=smoothing, reduction="sum"
    )
    torch.testing.assert_close(ours * (labels != 0).sum().clamp(min=1), theirs, rtol=0, atol=1e-10)


@given(problems(), st.integers(1, 4))
def test_padding_never_counts(problem, more):
    """More padding, whatever the model says there, changes nothing; and no gradient comes from it."""
    hidden, weight, labels, smoothing = problem
    padded = torch.cat([hidden, 1e4 * torch.randn(len(hidden), more, hidden.shape[2])], 1).double().requires_grad_()
    more_labels = torch.nn.functional.pad(labels, (0, more))
    hidden, weight = hidden.double(), weight.double()
    for form in (
        lambda h, labels: chunked_cross_entropy(h, weight, labels, smoothing),
        lambda h, labels: label_smoothed_cross_entropy(h @ weight.T, labels, smoothing),
    ):
        value = form(padded, more_labels)
        torch.testing.assert_close(value, form(hidden, labels), rtol=0, atol=1e-12)
        (gradient,) = torch.autograd.grad(value, padded)
        assert not gradient[more_labels == 0].any()


def test_padding_alone_is_0_and_finite():
    hidden, weight = torch.randn(2, 3, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
    labels = torch.zeros(2, 3, dtype=torch.long)
    for value in (
        chunked_cross_entropy(hidden, weight, labels, 0.1),
        label_smoothed_cross_entropy(hidden @ weight.T, labels, 0.1),
    ):
        assert value.item() == 0
        assert not any(gradient.any() for gradient in torch.autograd.grad(value, (hidden, weight)))


@given(problems())
def test_batches_that_share_a_number_of_tokens_add_up_to_one(problem):
    """Gradients accumulated over two batches are those of both in one."""
    hidden, weight, labels, smoothing = problem
    both_hidden, both_labels = hidden.repeat(2, 1, 1), torch.cat([labels, labels.flip(1)])
    n = max(int((both_labels != 0).sum()), 1)

    def apart(h, w):
        halves = zip(h.chunk(2), both_labels.chunk(2), strict=True)
        return sum(chunked_cross_entropy(half, w, of_half, smoothing, n) for half, of_half in halves)

    def together(h, w):
        return label_smoothed_cross_entropy(h @ w.T, both_labels, smoothing)

    results = (value_and_gradients(both_hidden, weight, torch.float64, form) for form in (apart, together))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


def test_a_certain_and_right_answer_costs_nothing_without_smoothing_and_more_with():
    logits = torch.tensor([[0.0, 100.0, 0.0]])
    assert label_smoothed_cross_entropy(logits, torch.tensor([1])).item() == 0
    assert label_smoothed_cross_entropy(logits, torch.tensor([1]), 0.1).item() == pytest.approx(100 * 0.1 * 2 / 3)


def test_narrow_logits_are_added_up_in_float32():
    logits, labels = torch.randn(50, 300), torch.randint(1, 300, (50,))
    value = label_smoothed_cross_entropy(logits.bfloat16(), labels, 0.1)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value, label_smoothed_cross_entropy(logits.bfloat16().float(), labels, 0.1))
    hidden = torch.randn(1, 50, 8, dtype=torch.bfloat16)
    assert chunked_cross_entropy(hidden, torch.randn(300, 8), labels[None]).dtype == torch.float32


@given(problems())
def test_under_autocast_the_products_are_bf16_and_the_rest_is_not(problem):
    """The loss is that of the rounded logits, but for their sum, which is not rounded and counts ε / V times; the
    gradients are close to theirs, and come back in float32."""
    hidden, weight, labels, smoothing = problem

    def rounded(h, w):
        return label_smoothed_cross_entropy(h.bfloat16() @ w.bfloat16().T, labels, smoothing)

    def chunked(h, w):
        with torch.autocast("cpu", torch.bfloat16):
            return chunked_cross_entropy(h, w, labels, smoothing)

    ours, theirs = (value_and_gradients(hidden, weight, torch.float32, form) for form in (chunked, rounded))
    largest = (hidden @ weight.T).abs().max().item()
    torch.testing.assert_close(ours[0], theirs[0], rtol=1e-5, atol=1e-5 + smoothing * largest * 2**-8)
    for one, other in zip(ours[1:], theirs[1:], strict=True):
        assert one.dtype == torch.float32
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05 * max(other.abs().max().item(), 1e-3))
