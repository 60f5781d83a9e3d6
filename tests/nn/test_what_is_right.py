"""Where torch.nn goes wrong, prosector.nn does not; docs/conformance.md shows both."""

import copy
import warnings

import pytest
import torch

from prosector import nn
from prosector.attention import Cache, Mask
from prosector.interop import blocks_of

FUTURE = torch.ones(4, 4, dtype=torch.bool).triu(1)
LEFT = torch.tensor([[1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.bool)
modes = pytest.mark.parametrize("mode", ["training", "evaluation", "no gradients"])


def run_in(mode, module, *inputs, **options):
    module.train(mode == "training")
    with torch.set_grad_enabled(mode != "no gradients"):
        return module(*inputs, **options)


def layer(**options):
    return nn.TransformerEncoderLayer(8, 2, 12, **{"dropout": 0.0, "batch_first": True} | options)


# --- rows that may look at nothing -----------------------------------------------------------------------------------


@modes
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("floats", [True, False])
def test_a_row_that_sees_nothing_gives_zeros_and_finite_gradients(mode, need_weights, floats):
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.randn(3, 4, 8, requires_grad=True)
    mask, padding = FUTURE, LEFT
    if floats:
        mask, padding = (torch.zeros(each.shape).masked_fill(each, -torch.inf) for each in (mask, padding))
    out, weights = run_in(mode, attention, x, x, x, padding, need_weights, mask)
    assert not out[0, :2].any()
    assert not out[2].any()
    assert out[0, 2:].any()
    if need_weights:
        assert not weights[2].any()
        torch.testing.assert_close(weights[0, 2:].sum(-1), torch.ones(2))
    if mode != "no gradients":
        out.square().sum().backward()
        assert all(leaf.grad.isfinite().all() for leaf in (x, *attention.parameters()))


@modes
@pytest.mark.parametrize("padding", [torch.ones(3, 4).bool(), LEFT, torch.tensor([[0, 0, 1, 1]] * 3).bool()])
def test_whatever_is_padded_the_model_stays_finite_and_keeps_its_shape(mode, padding):
    model = nn.Transformer(8, 2, 2, 2, 12, dropout=0.0, batch_first=True)
    x = torch.randn(3, 4, 8, requires_grad=True)
    masks = {f"{name}_key_padding_mask": padding for name in ("src", "tgt", "memory")}
    out = run_in(mode, model, x, x, tgt_mask=FUTURE, **masks)
    assert out.shape == (3, 4, 8)
    assert out.isfinite().all()
    if mode != "no gradients":
        out.square().sum().backward()
        assert all(leaf.grad.isfinite().all() for leaf in (x, *model.parameters()))


def test_training_and_evaluation_give_the_same_also_at_padding():
    encoder, x = nn.TransformerEncoder(layer(), 2), torch.randn(3, 4, 8)
    column = torch.tensor([[0, 0, 0, 1]] * 3).bool()
    results = [run_in(mode, encoder, x, src_key_padding_mask=column) for mode in ("training", "evaluation")]
    assert torch.equal(*results)
    assert torch.equal(results[0], run_in("no gradients", encoder, x, src_key_padding_mask=column))


# --- is_causal -------------------------------------------------------------------------------------------------------


@modes
def test_is_causal_alone_is_causal(mode):
    module, x = layer(), torch.randn(3, 4, 8)
    assert torch.equal(run_in(mode, module, x, is_causal=True), run_in(mode, module, x, src_mask=FUTURE))
    encoder = nn.TransformerEncoder(module, 2)
    assert torch.equal(run_in(mode, encoder, x, is_causal=True), run_in(mode, encoder, x, mask=FUTURE))
    padded = run_in(mode, module, x, src_key_padding_mask=LEFT, is_causal=True)
    assert torch.equal(padded, run_in(mode, module, x, src_key_padding_mask=LEFT, src_mask=FUTURE))


@modes
@pytest.mark.parametrize(
    "mask",
    [FUTURE.T, torch.zeros(4, 4).bool(), FUTURE.expand(6, 4, 4) & (torch.arange(6) > 0)[:, None, None]],
    ids=["the past", "nothing", "causal but for one head"],
)
def test_is_causal_against_the_mask_is_an_error(mode, mask):
    with pytest.raises(ValueError, match="is_causal=True contradicts attn_mask"):
        run_in(mode, layer(), torch.randn(3, 4, 8), src_mask=mask, is_causal=True)
    added = torch.zeros(mask.shape).masked_fill(mask, -torch.inf)
    with pytest.raises(ValueError, match="is_causal=True contradicts attn_mask"):
        run_in(mode, layer(), torch.randn(3, 4, 8), src_mask=added, is_causal=True)


def test_a_causal_mask_that_adds_too_is_causal():
    added = torch.randn(4, 4).masked_fill(FUTURE, -torch.inf)
    module, x = layer(), torch.randn(3, 4, 8)
    assert torch.equal(module(x, src_mask=added, is_causal=True), module(x, src_mask=added))


def test_memory_is_causal_without_or_against_a_mask_is_an_error():
    decoder = nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
    x, memory = torch.randn(1, 4, 8), torch.randn(1, 6, 8)
    with pytest.raises(ValueError, match="4 queries and 6 keys does not say where the queries stand"):
        decoder(x, memory, memory_is_causal=True)
    with pytest.raises(ValueError, match="contradicts attn_mask"):
        decoder(x, memory, memory_mask=torch.rand(4, 6) < 0.5, memory_is_causal=True)
    future = torch.ones(4, 6, dtype=torch.bool).triu(1)
    fits = decoder(x, memory, memory_mask=future, memory_is_causal=True)
    assert torch.equal(fits, decoder(x, memory, memory_mask=future))
    assert torch.equal(decoder(x, x, memory_is_causal=True), decoder(x, x, memory_mask=FUTURE))


def test_causal_with_a_cache_equals_the_full_pass():
    encoder = nn.TransformerEncoder(layer(), 2).eval()
    theirs = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 12, batch_first=True), 2).eval()
    x, memory = torch.randn(2, 4, 8), encoder(torch.randn(2, 5, 8))
    full, cache = theirs(x, memory, tgt_is_causal=True), Cache(2)
    decoder = blocks_of(theirs)
    with torch.no_grad():
        steps = [decoder(x[:, n : n + 1], memory, cache=cache) for n in range(4)]
    torch.testing.assert_close(torch.cat(steps, dim=1), full, rtol=0, atol=1e-5)


# --- masks that are not what they seem -------------------------------------------------------------------------------


def test_a_mask_of_0s_and_1s_in_floats_is_refused_with_a_hint():
    x = torch.randn(3, 4, 8)
    with pytest.raises(
        ValueError, match=r"attn_mask is a float mask of 0s and 1s.*attn_mask\.bool\(\).*attn_mask == 0"
    ):
        layer()(x, src_mask=FUTURE.float())
    with pytest.raises(ValueError, match="key_padding_mask is a float mask of 0s and 1s"):
        layer()(x, src_key_padding_mask=LEFT.float())
    unmasked = layer()
    assert torch.equal(unmasked(x, src_mask=torch.zeros(4, 4)), unmasked(x))  # zeros alone add nothing, and say so
    assert unmasked(x, src_mask=torch.tensor([[0.0, 1.0, 0.5, 0.0]] * 4)).isfinite().all()


@pytest.mark.parametrize(
    ("masks", "message"),
    [
        ({"src_mask": FUTURE.int()}, "attn_mask is torch.int32; give bool"),
        ({"src_mask": FUTURE[:3]}, r"attn_mask is \[3, 4\]; these sequences and heads need \[4, 4\]"),
        ({"src_mask": FUTURE.expand(5, 4, 4)}, r"attn_mask is \[5, 4, 4\].*need \[6, 4, 4\]"),
        ({"src_key_padding_mask": LEFT[:2]}, r"key_padding_mask is \[2, 4\].*need \[3, 4\]"),
    ],
)
def test_masks_that_do_not_fit_are_named(masks, message):
    with pytest.raises(ValueError, match=message):
        layer()(torch.randn(3, 4, 8), **masks)


# --- dropout, hooks, first weights, warnings -------------------------------------------------------------------------


def test_weights_are_those_before_dropout():
    attention, x = nn.MultiheadAttention(8, 2, dropout=0.5, batch_first=True), torch.randn(2, 4, 8)
    out, weights = attention.train()(x, x, x)
    again, same = attention.eval()(x, x, x)
    assert torch.equal(weights, same)
    assert not torch.allclose(out, again)


def test_nothing_is_dropped_in_evaluation():
    module, x = layer(dropout=0.5), torch.randn(2, 4, 8)
    assert torch.equal(module.eval()(x), module(x))
    assert not torch.equal(module.train()(x), module(x))


@modes
def test_hooks_are_called_on_every_path(mode):
    module, met = layer(), set()
    for name, part in module.named_modules():
        part.register_forward_hook(lambda *_, name=name: met.add(name))
    run_in(mode, module, torch.randn(2, 4, 8))
    assert met >= {"", "self_attn", "self_attn.out_proj", "linear1", "linear2", "norm1", "norm2", "dropout", "dropout1"}


def test_a_stacks_layers_begin_with_weights_of_their_own():
    first = layer(activation=torch.nn.PReLU())
    kept = copy.deepcopy(first.state_dict())
    layers = nn.TransformerEncoder(first, 3).layers
    assert all(torch.equal(kept[name], weight) for name, weight in layers[0].state_dict().items())
    for name in ("linear1.weight", "self_attn.in_proj_weight", "self_attn.out_proj.weight"):
        weights = [dict(each.named_parameters())[name] for each in layers]
        assert not any(torch.equal(weights[a], weights[b]) for a, b in ((0, 1), (1, 2), (0, 2)))
        assert not any(each.self_attn.out_proj.bias.any() for each in layers)
        assert weights[1].std().item() == pytest.approx(weights[0].std().item(), rel=0.3)


def test_the_usual_calls_warn_of_nothing():
    mask = nn.Transformer.generate_square_subsequent_mask(4)
    with warnings.catch_warnings(record=True) as told, torch.no_grad():
        warnings.simplefilter("always")
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 12), 2)
        encoder = nn.TransformerEncoder(layer(norm_first=True), 2).eval()
        encoder(torch.randn(3, 4, 8), mask, LEFT)
    assert not told


# --- compiled and exported -------------------------------------------------------------------------------------------


@pytest.fixture
def whole():
    """A layer compiled as one graph."""
    torch.compiler.reset()
    module = layer()
    return module, torch.compile(module, fullgraph=True, backend="eager")


def test_a_compiled_layer_is_one_graph_and_gives_the_same(whole):
    module, compiled = whole
    x = torch.randn(3, 4, 8)
    for masks in ({}, {"src_mask": FUTURE, "is_causal": True}, {"is_causal": True, "src_key_padding_mask": LEFT}):
        torch.testing.assert_close(compiled(x, **masks), module(x, **masks))


def test_a_compiled_layer_still_refuses_what_contradicts(whole):
    _, compiled = whole
    x = torch.randn(3, 4, 8)
    with pytest.raises(RuntimeError, match="is_causal=True contradicts attn_mask"):
        compiled(x, src_mask=FUTURE.T.contiguous(), is_causal=True)
    with pytest.raises(RuntimeError, match="float mask of 0s and 1s"):
        compiled(x, src_mask=FUTURE.float())


@pytest.mark.slow
def test_a_transformer_compiles_as_one_graph_with_gradients():
    torch.compiler.reset()
    model = nn.Transformer(8, 2, 1, 1, 12, batch_first=True)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    x = torch.randn(2, 4, 8)
    compiled(x, x, tgt_mask=FUTURE).sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_an_exported_encoder_takes_any_batch_and_length():
    encoder = nn.TransformerEncoder(layer(), 2, nn.LayerNorm(8)).eval()
    row, token = torch.export.Dim("row"), torch.export.Dim("token")
    shapes = {"src": {0: row, 1: token}, "src_key_padding_mask": {0: row, 1: token}}
    inputs = (torch.randn(3, 4, 8),), {"src_key_padding_mask": LEFT}
    program = torch.export.export(encoder, *inputs, dynamic_shapes=shapes).module()
    x, padding = torch.randn(2, 7, 8), torch.arange(7).expand(2, -1) > 4
    torch.testing.assert_close(program(x, src_key_padding_mask=padding), encoder(x, src_key_padding_mask=padding))


def test_our_own_masks_say_the_same():
    """Mask.from_torch_nn and prosector.nn read torch.nn's masks alike."""
    module, x = layer().eval(), torch.randn(2, 4, 8)
    block = blocks_of(nn.TransformerEncoder(module, 1).eval())
    padding = LEFT[:2]
    mask = Mask.from_torch_nn(FUTURE, padding)
    ours = module(x, src_mask=FUTURE, src_key_padding_mask=padding)
    torch.testing.assert_close(block(x, mask=mask), ours, rtol=0, atol=1e-6)
