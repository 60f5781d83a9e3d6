"""Multi-head attention: h separate attentions side by side, and the same as torch.nn's."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers import copy_attention, stirred
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from prosector.attention import KERNELS, Mask, MultiHeadAttention, Scope, functional

kernels = pytest.mark.parametrize("kernel", KERNELS)


def everything(Lq, Lk, mask=None):
    return Scope(torch.arange(Lq), torch.arange(Lk), mask)


def rows_of(linear, number, size):
    """The part of a projection that belongs to one head."""
    part = slice(number * size, (number + 1) * size)
    return linear.weight[part], None if linear.bias is None else linear.bias[part]


@st.composite
def attentions(draw):
    """Multi-head attention of any sizes, in float64: d_k and d_v free of d_model, key heads shared or not."""
    n_kv_heads, group = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    torch.manual_seed(draw(st.integers(0, 99)))
    attention = MultiHeadAttention(
        draw(st.integers(1, 7)),
        n_kv_heads * group,
        n_kv_heads=n_kv_heads,
        d_head=draw(st.integers(1, 5)),
        d_value=draw(st.integers(1, 5)),
        bias=draw(st.booleans()),
        output=draw(st.booleans()),
        scale=draw(st.sampled_from([None, 0.7])),
    )
    return stirred(attention).double()


@given(attentions(), st.integers(1, 4), st.integers(1, 4), st.booleans())
def test_for_all_sizes_h_separate_heads_concatenated_are_the_fused_multi_head(attention, Lq, Lk, causal):
    d_model, group = attention.query.in_features, attention.n_heads // attention.n_kv_heads
    x, source = torch.randn(2, Lq, d_model).double(), torch.randn(2, Lk, d_model).double()
    scope = everything(Lq, Lk, Mask.causal() if causal else None)
    may_look = None if scope.may_look is None else scope.may_look[0]  # [1, Lq, Lk]

    heads = []
    for h in range(attention.n_heads):
        query = functional.project(x, *rows_of(attention.query, h, attention.d_head))
        key = functional.project(source, *rows_of(attention.key, h // group, attention.d_head))
        value = functional.project(source, *rows_of(attention.value, h // group, attention.d_value))
        heads.append(functional.attention(query, key, value, may_look, scale=attention.scale))
    by_hand = torch.cat(heads, dim=-1)  # [B, Lq, H·d_v]
    if isinstance(attention.output, torch.nn.Linear):
        by_hand = functional.project(by_hand, attention.output.weight, attention.output.bias)

    torch.testing.assert_close(attention(x, source, scope), by_hand, rtol=0, atol=1e-10)


# --- against torch.nn ------------------------------------------------------------------------------------------------


def like(theirs):
    """Ours with the weights of a torch.nn.MultiheadAttention, whose three projections lie in one matrix."""
    ours = MultiHeadAttention(theirs.embed_dim, theirs.num_heads, bias=theirs.in_proj_bias is not None).double()
    copy_attention(ours, theirs)
    return ours


@given(
    st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.booleans(), st.booleans(), st.data()
)
def test_for_all_weights_and_masks_it_equals_torch_nn(n_heads, d_head, Lq, Lk, bias, cross, data):
    torch.manual_seed(data.draw(st.integers(0, 99)))
    theirs = stirred(torch.nn.MultiheadAttention(n_heads * d_head, n_heads, bias=bias, batch_first=True).double())
    ours = like(theirs)
    Lk = Lk if cross else Lq
    x = torch.randn(2, Lq, n_heads * d_head, dtype=torch.float64)
    source = torch.randn(2, Lk, n_heads * d_head, dtype=torch.float64) if cross else x

    tables = (Lq, Lk) if data.draw(st.booleans()) else (2 * n_heads, Lq, Lk)
    forbidden, padding = torch.rand(tables) < 0.4, torch.rand(2, Lk) < 0.4
    forbidden[..., 0], padding[:, 0] = False, False  # with an empty row torch.nn gives NaN
    mask = Mask.from_torch_nn(forbidden, padding, n_heads)
    out, weights = theirs(x, source, source, attn_mask=forbidden, key_padding_mask=padding, average_attn_weights=False)
    torch.testing.assert_close(ours(x, source, everything(Lq, Lk, mask)), out, rtol=0, atol=1e-10)

    query, key = functional.split_heads(ours.query(x), n_heads), functional.split_heads(ours.key(source), n_heads)
    may_look = mask.may_look(torch.arange(Lq), torch.arange(Lk))
    torch.testing.assert_close(functional.attention_weights(query, key, may_look), weights, rtol=0, atol=1e-10)


def test_it_equals_the_functional_form_and_has_its_gradients():
    theirs = stirred(torch.nn.MultiheadAttention(6, 2, batch_first=True).double())
    ours, x = like(theirs), torch.randn(5, 2, 6, dtype=torch.float64)  # torch's functional form has the length first
    out, _ = F.multi_head_attention_forward(
        *(x, x, x, 6, 2, theirs.in_proj_weight, theirs.in_proj_bias, None, None, False, 0.0),
        *(theirs.out_proj.weight, theirs.out_proj.bias),
    )
    mine = ours(x.transpose(0, 1), x.transpose(0, 1), everything(5, 5)).transpose(0, 1)
    torch.testing.assert_close(mine, out, rtol=0, atol=1e-10)
    wanted = torch.randn_like(out)
    (out * wanted).sum().backward()
    (mine * wanted).sum().backward()
    gradients = torch.cat([ours.query.weight.grad, ours.key.weight.grad, ours.value.weight.grad])
    torch.testing.assert_close(gradients, theirs.in_proj_weight.grad, rtol=0, atol=1e-10)
    torch.testing.assert_close(ours.output.bias.grad, theirs.out_proj.bias.grad, rtol=0, atol=1e-10)


# --- what is laid out how --------------------------------------------------------------------------------------------


def test_projections_have_the_sizes_that_were_asked_for():
    attention = MultiHeadAttention(10, 6, n_kv_heads=2, d_head=3, d_value=5)
    sizes = {name: list(weight.shape) for name, weight in attention.named_parameters() if name.endswith("weight")}
    assert sizes == {
        "query.weight": [18, 10],
        "key.weight": [6, 10],
        "value.weight": [10, 10],
        "output.weight": [10, 30],
    }
    x = torch.ones(1, 3, 10)
    assert MultiHeadAttention(10, 6, d_head=3, d_value=5, output=False)(x, x, everything(3, 3)).shape == (1, 3, 30)


def test_key_heads_as_many_as_query_heads_are_plain_multi_head():
    """Shared keys are the same as own keys that happen to be equal."""
    grouped = stirred(MultiHeadAttention(8, 4, n_kv_heads=2)).double()
    plain = MultiHeadAttention(8, 4).double()
    weights = dict(grouped.state_dict())
    for name in ("key.weight", "key.bias", "value.weight", "value.bias"):
        weights[name] = weights[name].unflatten(0, (2, 2)).repeat_interleave(2, dim=0).flatten(0, 1)
    plain.load_state_dict(weights)
    x = torch.randn(2, 3, 8, dtype=torch.float64)
    torch.testing.assert_close(grouped(x, x, everything(3, 3)), plain(x, x, everything(3, 3)), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"d_model": 10, "n_heads": 4}, "d_model=10 does not divide into n_heads=4; give d_head"),
        ({"d_model": 12, "n_heads": 6, "n_kv_heads": 4}, "n_heads=6 is not a multiple of n_kv_heads=4"),
        ({"d_model": 12, "n_heads": 6, "dropout": 1.0}, r"dropout p=1.0 is not in \[0, 1\)"),
    ],
)
def test_sizes_that_do_not_fit_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**arguments)


# --- empty rows, from end to end -------------------------------------------------------------------------------------


@kernels
@pytest.mark.parametrize("mode", ["training", "evaluation", "without gradients"])
def test_in_every_mode_and_kernel_a_query_that_sees_nothing_gets_the_outputs_bias(kernel, mode):
    attention = stirred(MultiHeadAttention(8, 2, kernel=KERNELS[kernel])).train(mode == "training")
    x = torch.randn(3, 4, 8, requires_grad=mode != "without gradients")
    mask = Mask.causal() & Mask.keys(torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]]).bool())
    with torch.set_grad_enabled(mode != "without gradients" and kernel != "flex"):  # which has none on a CPU
        out = attention(x, x, everything(4, 4, mask))
    nothing = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]]).bool()
    torch.testing.assert_close(out[nothing], attention.output.bias.expand(6, 8), rtol=0, atol=1e-6)
    assert (out[~nothing] - attention.output.bias).abs().amax(-1).min() > 1e-3
    if out.requires_grad:
        out.square().sum().backward()
        assert x.grad.isfinite().all()
        assert all(p.grad.isfinite().all() for p in attention.parameters())
        assert not x.grad[2].any()


@pytest.mark.parametrize("empty", [True, False])
def test_dropped_weights_leave_empty_rows_empty(empty):
    attention = stirred(MultiHeadAttention(8, 2, dropout=0.5)).train()
    x = torch.randn(1, 4, 8, requires_grad=True)
    out = attention(x, x, everything(4, 4, Mask.keys(torch.full((1, 4), not empty))))
    assert torch.equal(out, attention.output.bias.expand(1, 4, 8)) == empty
    out.sum().backward()
    assert x.grad.isfinite().all()


class Casts(TorchDispatchMode):
    """Counts how often something of a shape becomes another type."""

    def __init__(self, shape):
        super().__init__()
        self.shape, self.number = shape, 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        result = function(*arguments, **(options or {}))
        if function is torch.ops.aten._to_copy.default and result.shape == self.shape:
            self.number += result.dtype != arguments[0].dtype
        return result


def test_under_autocast_what_three_projections_read_is_cast_once():
    torch.manual_seed(1)
    attention = MultiHeadAttention(24, 3, kernel=KERNELS["written-out"])
    x = torch.randn(2, 5, 24)
    with torch.autocast("cpu", torch.bfloat16), Casts(x.shape) as casts:
        found = attention(x, x, everything(5, 5))
    assert casts.number == 1
    wanted = attention(x, x, everything(5, 5))
    assert found.dtype == torch.bfloat16
    assert torch.allclose(found.float(), wanted, atol=0.03)


def test_autocast_leaves_float64_as_it_is():
    attention = MultiHeadAttention(24, 3, kernel=KERNELS["written-out"]).double()
    x = torch.randn(2, 5, 24, dtype=torch.float64)
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(x, x, everything(5, 5))
    assert torch.equal(found, attention(x, x, everything(5, 5)))
