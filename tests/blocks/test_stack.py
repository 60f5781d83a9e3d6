"""Stacks: their addresses, what their layers share, and what they leave to the layers."""

from contextlib import nullcontext

import pytest
import torch
from tests.helpers import Watch, assert_same, sentences, stirred, tiny, watching

from prosector.attention import Cache, Mask, Scope
from prosector.attention.packing import without_padding
from prosector.blocks import DecoderStack, EncoderStack, FeedForward
from prosector.config.layer import LayerConfig
from prosector.positions import Position

D = 8


class Counting(Position):
    """A position encoding that writes down when it is asked, and does nothing."""

    def __init__(self):
        super().__init__()
        self.embedded, self.rotated, self.biased = [], [], []

    def embed(self, x, positions):
        self.embedded.append(positions)
        return x

    def rotate(self, query, key, query_positions, key_positions):
        self.rotated.append((query_positions, key_positions))
        return query, key

    def bias(self, query_positions, key_positions):
        self.biased.append((query_positions, key_positions))
        return torch.zeros(1, 2, query_positions.shape[-1], key_positions.shape[-1])


def stack(kind, position=None, n_layers=3, final_norm=True, **fields):
    config = LayerConfig(d_model=D, n_heads=2, d_ff=12, dropout=0.0, **fields)
    layer = config.build_encoder_layer if kind is EncoderStack else config.build_decoder_layer
    norm = config.build_norm() if final_norm else None
    return stirred(kind([layer() for _ in range(n_layers)], position or Position(), norm, 0.0)).eval()


def test_layers_are_numbered_and_their_parts_named_as_the_papers_name_them():
    encoder, decoder = (dict(stack(kind).named_modules()).keys() for kind in (EncoderStack, DecoderStack))
    assert {"0", "1", "2", "2.attention", "2.attention.query", "2.feed_forward.inner", "2.norm1"} <= encoder
    assert {"0.self", "0.cross", "0.feed_forward", "0.norm3"} <= decoder
    assert {"position", "final_norm"} <= encoder & decoder


def test_for_every_layer_the_taps_are_met_in_order():
    encoder = stack(EncoderStack, n_layers=2)
    with watching(Watch()) as watch:
        encoder(torch.randn(1, 3, D))
    addresses = {module: name for name, module in encoder.named_modules()}
    met = [f"{addresses[module]}.{name}".strip(".") for module, name, _ in watch.seen]
    attention = [f"attention.{name}" for name in ("query", "key", "value", "scores", "weights", "recomputed", "heads")]
    layer = ["norm1", *attention, "attention", "attended", "norm2", "feed_forward.hidden", "feed_forward"]
    first, second = ([*(f"{number}.{name}" for name in layer), str(number)] for number in range(2))
    assert met == ["positions", "input", *first, *second, "final_norm", ""]


def test_all_layers_share_one_position_whose_bias_is_computed_once():
    position = Counting()
    encoder = stack(EncoderStack, position)
    encoder(torch.randn(2, 4, D))
    assert [len(position.embedded), len(position.biased), len(position.rotated)] == [1, 1, 3]  # one turn a layer
    assert sum(module is position for module in encoder.modules()) == 1
    assert position.biased[0][0].tolist() == [0, 1, 2, 3]


def test_cross_attention_never_asks_for_positions():
    position = Counting()
    stack(DecoderStack, position)(torch.randn(2, 4, D), torch.randn(2, 5, D))
    assert [len(position.embedded), len(position.biased), len(position.rotated)] == [1, 1, 3]
    assert all(key_positions.shape[-1] == 4 for _, key_positions in position.rotated + position.biased)


def test_with_a_cache_only_new_keys_are_turned_and_all_keys_are_biased():
    position, cache = Counting(), Cache(3)
    decoder = stack(DecoderStack, position)
    with torch.no_grad():
        for length in (2, 1, 3):
            decoder(torch.randn(1, length, D), torch.randn(1, 5, D), cache=cache)
    assert [p.tolist() for p in position.embedded] == [[0, 1], [2], [3, 4, 5]]
    assert [(q.tolist(), k.tolist()) for q, k in position.rotated[::3]] == [([0, 1],) * 2, ([2],) * 2, ([3, 4, 5],) * 2]
    assert [k.tolist() for _, k in position.biased] == [[[0, 1]], [[0, 1, 2]], [[0, 1, 2, 3, 4, 5]]]
    assert all(kept.length == 6 for kept in cache.self_attention)
    assert all(kept.length == 5 for kept in cache.cross_attention)  # the memory's, once


def test_a_learned_bias_gathers_the_gradients_of_all_layers():
    class Learned(Position):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Parameter(torch.zeros(1, 2, 4, 4))

        def bias(self, query_positions, key_positions):
            return self.table

    position = Learned()
    encoder = stack(EncoderStack, position).double()
    x, wanted = torch.randn(2, 4, D).double(), torch.randn(2, 4, D).double()
    (encoder(x) * wanted).sum().backward()
    # The same, by giving each layer a bias of its own: the shared one's gradient is the sum of theirs.
    parts = torch.zeros(3, 1, 2, 4, 4, dtype=torch.float64, requires_grad=True)
    biases = [(layer.attention, part) for layer, part in zip(encoder.layers, parts, strict=True)]
    with watching(Watch({(module, "scores"): lambda s, part=part: s + part for module, part in biases})):
        (encoder(x) * wanted).sum().backward()
    torch.testing.assert_close(position.table.grad / 2, parts.grad.sum(0), rtol=0, atol=1e-10)


def test_the_last_norm_is_a_switch():
    x = torch.randn(1, 3, D)
    assert stack(EncoderStack, final_norm=False).final_norm is None
    encoder = stack(EncoderStack)
    normed = encoder(x)
    norm, encoder.final_norm = encoder.final_norm, None
    torch.testing.assert_close(norm(encoder(x)), normed)


@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_stack_is_its_layers_one_after_the_other(n_layers):
    encoder, x = stack(EncoderStack, n_layers=n_layers, final_norm=False), torch.randn(2, 3, D)
    y = x
    for layer in encoder.layers:
        y = layer(y, Scope(torch.arange(3), torch.arange(3)))
    torch.testing.assert_close(encoder(x), y, rtol=0, atol=0)


def test_a_mask_over_an_encoder_joins_that_of_its_padding():
    encoder, x = stack(EncoderStack), torch.randn(1, 4, D)
    real = torch.tensor([[True, True, False, True]])
    both = encoder(x, mask=Mask.window(1, 1) & Mask.keys(real))
    assert torch.equal(encoder(x, real, mask=Mask.window(1, 1)), both)
    assert not torch.allclose(encoder(x, real), both)


# --- without padding -------------------------------------------------------------------------------------------------

PACKED = {
    "post-norm": {},
    "pre-norm, rope, grouped queries": {"norm_placement": "pre", "position": "rope", "n_kv_heads": 1},
    "gated, t5": {"activation": "swiglu", "position": "t5"},
    "alibi, sdpa": {"position": "alibi", "kernel": "sdpa"},
    "rms norms": {"norm": "rms"},
    "batch norms": {"norm": "batch"},
}


def padded_pairs():
    torch.manual_seed(2)
    src, tgt = sentences(5, 7), sentences(5, 6)
    for row, (source, target) in enumerate(((7, 3), (2, 6), (5, 1), (7, 6), (1, 4))):
        src[row, source:], tgt[row, target:] = 0, 0
    return src, tgt


def learned(model, src, tgt):
    """The hidden vectors of real tokens, all gradients, and what norms have counted."""
    model.zero_grad()
    hidden = model.hidden(src, tgt)[tgt != 0]
    hidden.sin().sum().backward()
    return hidden, *(weight.grad for weight in model.parameters() if weight.grad is not None), *model.buffers()


@pytest.mark.parametrize("name", PACKED)
def test_without_padding_a_model_learns_the_same(name):
    src, tgt = padded_pairs()
    results = []
    for context in (nullcontext(), without_padding()):
        torch.manual_seed(3)
        model = tiny(**{"dropout": 0.0, "kernel": "written-out"} | PACKED[name]).train()
        with context:
            results.append(learned(model, src, tgt))
    for ours, theirs in zip(*results, strict=True):
        assert_same(ours, theirs, 1e-12)


def rows_seen(model, src, tgt, watch=None):
    """How many tokens the encoder's and the decoder's first feed-forward networks get."""
    seen = []

    def noting(original):
        return lambda x: seen.append(x.shape[:2].numel()) or original(x)

    for network in (model.encoder.layers[0].feed_forward, model.decoder.layers[0].feed_forward):
        network.inner.forward = noting(network.inner.forward)
    with without_padding(), watching(watch) if watch else nullcontext():
        model.hidden(src, tgt)
    return tuple(seen)


def test_padding_stays_away_from_the_layers():
    src, tgt = padded_pairs()
    assert rows_seen(tiny(), src, tgt) == (32, 32)  # 22 and 20 of 35 and 30, and what makes full numbers of them


def unknown_network(model):
    class Mixing(FeedForward):
        """Known to nobody."""

    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.__class__ = Mixing


def unknown_activation(model):
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.activation = lambda x: x.softmax(1)


def hook(model):
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.register_forward_hook(lambda *given: None)


def unknown_map(model):
    class Shifting(torch.nn.Linear):
        """Looks at its neighbour."""

    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward.outer.__class__ = Shifting


def unknown_norm(model):
    model.encoder.final_norm = model.decoder.final_norm = torch.nn.Sequential()
    model.encoder.final_norm.forward = model.decoder.final_norm.forward = lambda x, real: x


def backward_hook(model):
    for stack in (model.encoder, model.decoder):
        stack.layers[0].feed_forward.register_full_backward_hook(lambda *given: None)


CHANGES = [unknown_network, unknown_activation, unknown_map, unknown_norm, hook, backward_hook]


@pytest.mark.parametrize("change", CHANGES)
def test_padding_stays_where_a_layer_may_mix_tokens_or_is_watched(change):
    src, tgt = padded_pairs()
    model = tiny()
    change(model)
    assert rows_seen(model, src, tgt) == (35, 30)


def test_padding_stays_for_an_observer():
    assert rows_seen(tiny(), *padded_pairs(), watch=Watch()) == (35, 30)


def test_padding_on_the_left_stays_where_no_mask_hides_it():
    src, tgt = padded_pairs()
    assert rows_seen(tiny(), src.flip(1), tgt.flip(1)) == (32, 30)


def test_a_batch_of_padding_alone_stays_what_it_is():
    src, tgt = padded_pairs()
    assert rows_seen(tiny(), torch.zeros_like(src), tgt) == (35, 32)


def test_compiled_whole_a_model_learns_the_same_with_padding():
    """Nothing on the way asks the data for a number, which would end the graph, and make a GPU's host wait."""
    src, tgt = padded_pairs()
    model = tiny(kernel="written-out", dropout=0.0, encoder_layers=1, decoder_layers=1).train()
    plain = [value.clone() for value in learned(model, src, tgt)]
    torch.compiler.reset()
    hidden = torch.compile(model.hidden, backend="aot_eager", fullgraph=True)
    with without_padding():
        model.zero_grad()
        found = hidden(src, tgt)[tgt != 0]
        found.sin().sum().backward()
    compiled = found, *(weight.grad for weight in model.parameters() if weight.grad is not None), *model.buffers()
    for ours, theirs in zip(compiled, plain, strict=True):
        assert_same(ours, theirs, 1e-12)
