"""Code that was written against torch.nn runs unchanged: names, defaults, first weights, and the lines of tutorials."""

import inspect

import pytest
import torch
from tests.helpers import Watch, watching

from prosector import nn

SIX = nn.__all__
SMALL = {
    "MultiheadAttention": (8, 2),
    "TransformerEncoderLayer": (8, 2, 12),
    "TransformerDecoderLayer": (8, 2, 12),
    "Transformer": (8, 2, 2, 2, 12),
}


@pytest.mark.parametrize("name", SIX)
@pytest.mark.parametrize("method", ["__init__", "forward"])
def test_arguments_have_torch_nns_names_order_and_defaults(name, method):
    theirs, ours = (inspect.signature(getattr(getattr(p, name), method)).parameters for p in (torch.nn, nn))
    assert {key: each.default for key, each in ours.items()} == {key: each.default for key, each in theirs.items()}
    assert list(ours) == list(theirs)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("name", SMALL)
def test_weights_have_torch_nns_names_and_go_both_ways(name):
    theirs, ours = (getattr(package, name)(*SMALL[name]) for package in (torch.nn, nn))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [key for key, _ in ours.named_parameters()] == [key for key, _ in theirs.named_parameters()]
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("MultiheadAttention", {}),
        ("MultiheadAttention", {"kdim": 3, "vdim": 5, "add_bias_kv": True}),
        ("TransformerEncoderLayer", {}),
        ("TransformerEncoderLayer", {"bias": False}),
        ("TransformerDecoderLayer", {}),
    ],
)
def test_the_same_seed_gives_torch_nns_first_weights(name, options):
    states = []
    for package in (torch.nn, nn):
        torch.manual_seed(3)
        states.append(getattr(package, name)(*SMALL[name], **options).state_dict())
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])


def test_what_is_not_one_of_the_six_is_torch_nns_own():
    assert nn.Linear is torch.nn.Linear
    assert nn.functional is torch.nn.functional
    with pytest.raises(AttributeError):
        nn.NoSuchThing  # noqa: B018


def test_device_and_type_are_what_was_asked_for():
    model = nn.Transformer(8, 2, 1, 1, 12, device="meta", dtype=torch.float16)
    assert {(p.device.type, p.dtype) for p in model.parameters()} == {("meta", torch.float16)}


# --- the lines of tutorials ------------------------------------------------------------------------------------------


def test_an_encoder_layer_with_and_without_an_upper_triangular_mask():
    layer = nn.TransformerEncoderLayer(d_model=6, nhead=6, activation="gelu", batch_first=True)
    X = torch.randn(1, 10, 6)
    assert layer(X).shape == (1, 10, 6)
    mask = torch.triu(torch.ones(10, 10), diagonal=1).bool()
    layer.eval()
    out = layer(X, src_mask=mask)
    assert out.shape == (1, 10, 6)
    later = torch.cat([X[:, :5], torch.randn(1, 5, 6)], dim=1)
    torch.testing.assert_close(layer(later, src_mask=mask)[:, :5], out[:, :5])
    assert not torch.allclose(layer(later)[:, :5], layer(X)[:, :5])


def test_four_encoder_layers_stacked():
    """Length first, as is the default: 10 tokens, 12 rows; some texts print a 16 for the 6 that comes out."""
    stack = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=6, nhead=6), num_layers=4)
    assert stack(torch.randn(10, 12, 6)).shape == (10, 12, 6)


def test_a_decoder_layer_and_its_memory():
    layer = nn.TransformerDecoderLayer(d_model=12, nhead=4, batch_first=True)
    X, memory = torch.randn(2, 20, 12), torch.randn(2, 10, 12)
    assert layer(X, memory).shape == (2, 20, 12)
    mask = nn.Transformer.generate_square_subsequent_mask(20)
    assert layer(X, memory, tgt_mask=mask).shape == (2, 20, 12)


def test_a_decoder_stack_is_built_from_a_decoder_layer():
    layer = nn.TransformerDecoderLayer(d_model=12, nhead=4, batch_first=True)
    stack = nn.TransformerDecoder(layer, num_layers=3, norm=nn.LayerNorm(12))
    assert stack(torch.randn(2, 20, 12), torch.randn(2, 10, 12)).shape == (2, 20, 12)
    with pytest.raises(ValueError, match="TransformerDecoderLayer"):
        nn.TransformerDecoder(nn.TransformerEncoderLayer(12, 4), 2)
    with pytest.raises(ValueError, match="TransformerEncoderLayer"):
        nn.TransformerEncoder(layer, 2)


def test_the_whole_transformer_with_its_defaults_for_layout():
    model = nn.Transformer(d_model=16, nhead=4, num_encoder_layers=2, num_decoder_layers=2, dim_feedforward=20)
    src, tgt = torch.rand(10, 3, 16), torch.rand(7, 3, 16)
    assert model(src, tgt, tgt_mask=model.generate_square_subsequent_mask(7)).shape == (7, 3, 16)
    with pytest.raises(ValueError, match="src has 3 rows and tgt 4"):
        model(src, torch.rand(7, 4, 16))
    with pytest.raises(ValueError, match="tgt has 15 features"):
        model(src, torch.rand(7, 3, 15))


def test_own_stacks_stand_in_the_place_of_encoder_and_decoder():
    class Echo(torch.nn.Module):
        def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
            return src

    model = nn.Transformer(8, 2, 1, 1, 12, custom_encoder=Echo())
    assert model(torch.randn(3, 2, 8), torch.randn(4, 2, 8)).shape == (4, 2, 8)


def test_what_passes_through_can_be_observed():
    layer = nn.TransformerEncoderLayer(8, 2, 12, batch_first=True).eval()
    x = torch.randn(2, 4, 8)
    with watching(Watch()) as watch:
        out = layer(x)
    [weights] = watch.values(layer.self_attn, "weights")
    assert weights.shape == (2, 2, 4, 4)
    assert torch.equal(watch.values(layer, "")[0], out)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.MultiheadAttention(10, 4), "embed_dim=10 does not divide into num_heads=4"),
        (lambda: nn.TransformerEncoderLayer(8, 2, activation="swish"), 'activation="swish" is not "relu" or "gelu"'),
        (lambda: nn.TransformerEncoderLayer(8, 2, dropout=1.0), "dropout p=1.0"),
    ],
)
def test_arguments_that_cannot_be_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
