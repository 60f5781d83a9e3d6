"""Gradient times input is how an output begins to change when an input's vector is made longer."""

import pytest
import torch
from tests.observe.models import KINDS, PICTURES, SRC, TGT, WITH_KERNELS, recurrent, run_whole, translator, unet, vit
from torch import nn

from prosector.observe import gradient_times_input, observe

PLACES = {"transformer": (1, 2, 5), "gpt": (0, 1, 4), "bert": (1, 0, 7), "rnn": (1, 2, 3), "rnn-attention": (0, 2, 8)}
PLACES |= {"vit": (1, 2), "conv-transformer": (0, 1), "unet": (1, 2, 3, 4), "attention-unet": (0, 1, 7, 11)}
every_kind = pytest.mark.parametrize("kind", KINDS)


def of_kind(kind, **fields):
    make, inputs = KINDS[kind]
    torch.manual_seed(0)
    model = make(**fields).double()
    return model, [each.double() if each.is_floating_point() else each for each in inputs]


def lengthened(model, inputs, place, address, where, by, log_p):
    """The number with one token's vector made longer."""

    def longer(value):
        value[(place[0], *where)] *= 1 + by
        return value

    with torch.no_grad(), observe(model, keep=()) as seen:
        seen.edit(address, longer)
        output = model(*inputs)
    return (output.log_softmax(1 if output.ndim == 4 else -1) if log_p else output)[place].item()


@pytest.mark.parametrize("log_p", [False, True])
@every_kind
def test_every_share_is_the_derivative_along_its_vector(kind, log_p):
    model, inputs = of_kind(kind)
    place = PLACES[kind]
    found = gradient_times_input(model, inputs, place, log_p=log_p)
    for address, shares in found.items():
        for where in torch.cartesian_prod(*map(torch.arange, shares.shape)).reshape(-1, shares.ndim).tolist()[::5]:
            index = where if shares.ndim == 1 else (slice(None), *where)  # of pictures, all channels of a place
            up, down = (lengthened(model, inputs, place, address, index, by, log_p) for by in (1e-4, -1e-4))
            assert shares[tuple(where)].item() == pytest.approx((up - down) / 2e-4, abs=1e-6), (address, where)
    assert max(shares.abs().max() for shares in found.values()) > 1e-3


@every_kind
def test_its_shares_have_the_inputs_shapes(kind):
    model, inputs = of_kind(kind)
    shapes = {
        address: list(shares.shape) for address, shares in gradient_times_input(model, inputs, PLACES[kind]).items()
    }
    pictures = {"pictures": [8, 12]}
    assert shapes == {
        "transformer": {"source_embedding": [4], "target_embedding": [3]},
        "rnn": {"source_embedding": [4], "target_embedding": [3]},
        "rnn-attention": {"source_embedding": [4], "target_embedding": [3]},
        "gpt": {"embedding": [3]},
        "bert": {"embedding": [4]},
        "vit": {"patches": [2, 3]},
    }.get(kind, pictures)


def test_where_the_output_is_linear_the_shares_sum_to_it():
    """A U-Net without norms and biases is made of maps and rectifiers: twice the picture is twice the score."""
    model = unet(norm="none").double()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("bias"):
                weight.zero_()
    for place in ((0, 1, 2, 3), (1, 0, 7, 0)):
        [shares] = gradient_times_input(model, [PICTURES.double()], place).values()
        assert shares.sum().item() == pytest.approx(model(PICTURES.double())[place].item(), rel=1e-9)


def test_with_everything_but_embeddings_and_output_taken_away_they_sum_too():
    """Without attention, networks and norms a ViT's logit is linear: the shares of the patches, and a bias."""
    model = vit(pooling="mean", position="none", norm_placement="post", final_norm=False).double()
    for layer in model.encoder.layers:
        layer.norm1, layer.norm2 = Passes(), Passes()
        nn.init.zeros_(layer.attention.output.weight)
        nn.init.zeros_(layer.attention.output.bias)
        nn.init.zeros_(layer.feed_forward.outer.weight)
        nn.init.zeros_(layer.feed_forward.outer.bias)
    [shares] = gradient_times_input(model, [PICTURES.double()], (1, 2)).values()
    wanted = (model(PICTURES.double())[1, 2] - model.output.bias[2]).item()
    assert shares.sum().item() == pytest.approx(wanted, rel=1e-9)


class Passes(nn.Module):
    """No norm at all."""

    def forward(self, x, real=None):
        return x


@pytest.mark.parametrize("kind", WITH_KERNELS)
def test_for_every_kernel_they_are_the_same(kind):
    found = [gradient_times_input(*of_kind(kind, kernel=kernel), PLACES[kind]) for kernel in ("sdpa", "flex")]
    for address in found[0]:
        torch.testing.assert_close(found[0][address], found[1][address])


def test_what_is_not_seen_has_no_share():
    model = translator()
    found = gradient_times_input(model, [SRC, TGT], (1, 1, 4))
    assert found["source_embedding"][3] == 0  # padding
    assert found["target_embedding"][2] == 0  # not written yet
    assert (found["target_embedding"][:2].abs() > 0).all()


def test_it_leaves_the_model_as_it_was_and_works_where_gradients_are_off():
    model = recurrent()
    with torch.no_grad():
        before = run_whole(model, SRC, TGT)
    with torch.inference_mode():
        found = gradient_times_input(model, [SRC, TGT], (0, 2, 5))
    assert found["source_embedding"].abs().min() > 0
    assert not found["source_embedding"].requires_grad
    assert all(weight.grad is None for weight in model.parameters())
    with torch.no_grad():
        assert torch.equal(run_whole(model, SRC, TGT), before)


@pytest.mark.parametrize(
    ("model", "place", "error", "says"),
    [
        (translator(), (0, 3, 1), IndexError, r"the output is \[2, 3, 13\], and \[0, 3, 1\] was asked for"),
        (translator(), (0, 1), IndexError, r"and \[0, 1\] was asked for"),
        (translator().train(), (0, 0, 0), ValueError, r"call model.eval\(\) first"),
        (nn.Linear(2, 2).eval(), (0, 0), ValueError, "where the inputs of a Linear become vectors is not known"),
    ],
)
def test_mistakes_are_named(model, place, error, says):
    with pytest.raises(error, match=says):
        gradient_times_input(model, [SRC, TGT], place)
