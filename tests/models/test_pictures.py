"""Models of pictures, ViT and ConvTransformer: sizes, first losses, what is seen, and that they learn."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from tests.helpers import stirred

from prosector.config.conv_transformer import ConvTransformerConfig, StageConfig
from prosector.config.vit import ViTConfig
from prosector.observe import observe

SMALL = {"d_model": 16, "n_heads": 2, "d_ff": 32, "layers": 2, "dropout": 0.0}


def small_vit(**fields):
    return ViTConfig(**SMALL | {"picture": (12, 12), "patch": (4, 4)} | fields)


def small_cvt(**fields):
    stages = (StageConfig(d_model=8, layers=1), StageConfig(d_model=16, n_heads=2, layers=1))
    return ConvTransformerConfig(**{"stages": stages, "dropout": 0.0} | fields)


every_model = pytest.mark.parametrize("config", [small_vit(), small_vit(pooling="mean"), small_cvt()], ids=repr)


@every_model
def test_before_training_every_class_is_as_likely_as_another(config):
    pictures, labels = torch.randn(32, 1, 12, 12), torch.randint(10, (32,))
    loss = torch.nn.functional.cross_entropy(config.build()(pictures), labels)
    assert loss.item() == pytest.approx(math.log(10), rel=0.05)


@every_model
def test_a_picture_does_not_depend_on_its_batch(config):
    model, pictures = stirred(config.build().double()).eval(), torch.randn(3, 1, 12, 12).double()
    with torch.no_grad():
        torch.testing.assert_close(model(pictures[1:2]), model(pictures)[1:2], rtol=0, atol=1e-12)


@every_model
def test_a_few_steps_tell_light_from_dark_halves(config):
    torch.manual_seed(0)
    model = type(config)(**config.model_dump() | {"n_classes": 2}).build()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        labels = torch.randint(2, (32,))
        pictures = 0.5 * torch.randn(32, 1, 12, 12)
        pictures[labels == 0, :, :6] += 1
        pictures[labels == 1, :, 6:] += 1
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (model.eval()(pictures).argmax(1) == labels).float().mean() > 0.9


# --- ViT -------------------------------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3))
def test_patches_of_any_dividing_size_are_read_row_by_row(down, across, rows, columns, channels):
    config = small_vit(picture=(down * rows, across * columns), patch=(down, across), d_input=channels, position="none")
    model = config.build()
    picture = torch.randn(1, channels, down * rows, across * columns)
    with torch.no_grad(), observe(model) as seen:
        model(picture)
    patches = seen["patches"]
    assert patches.shape == (1, 16, rows, columns)
    weight = model.patches.weight.flatten(1)
    for i in range(rows):
        for j in range(columns):
            patch = picture[0, :, i * down : (i + 1) * down, j * across : (j + 1) * across].flatten()
            torch.testing.assert_close(patches[0, :, i, j], weight @ patch + model.patches.bias, rtol=0, atol=1e-5)


def test_a_patch_that_does_not_divide_the_picture_is_named():
    with pytest.raises(ValidationError, match="patches of 5 x 4 do not divide a picture of 12 x 12"):
        small_vit(patch=(5, 4))
    with pytest.raises(ValueError, match="patches of 4 x 4 do not divide a picture of 12 x 14"):
        small_vit().build()(torch.randn(1, 1, 12, 14))


@pytest.mark.parametrize("pooling, n_prefix", [("class-token", 1), ("mean", 0)])
@pytest.mark.parametrize("size", [(12, 12), (8, 20), (24, 12)])
def test_pictures_of_another_size_are_classed_too(pooling, n_prefix, size):
    model = small_vit(pooling=pooling).build().eval()
    pictures = torch.randn(2, 1, *size)
    with torch.no_grad():
        assert model.hidden(pictures).shape == (2, n_prefix + size[0] * size[1] // 16, 16)
        assert model(pictures).shape == (2, 10)


@pytest.mark.parametrize("position", ["none", "sinusoidal", "rope", "alibi", "t5", "learned"])
def test_a_texts_positions_will_do(position):
    model = small_vit(position=position).build().eval()
    assert model(torch.randn(2, 1, 12, 12)).shape == (2, 10)


def test_without_positions_the_patches_order_is_nothing_and_with_them_it_is():
    picture = torch.randn(1, 1, 12, 12).double()
    swapped = torch.cat([picture[..., 4:8], picture[..., :4], picture[..., 8:]], dim=-1)
    for position, same in (("none", True), ("grid", False)):
        model = stirred(small_vit(position=position).build().double()).eval()
        difference = (model(picture) - model(swapped)).abs().max().item()
        assert (difference < 1e-12) == same


# --- ConvTransformer -------------------------------------------------------------------------------------------------


@given(st.integers(4, 33), st.integers(4, 33))
def test_any_picture_will_do(height, width):
    model = small_cvt().build().eval()
    with torch.no_grad(), observe(model) as seen:
        assert model(torch.randn(2, 1, height, width)).shape == (2, 10)
    h, w = -(-height // 2), -(-width // 2)
    assert seen["stage0"].shape == (2, h * w, 8)
    h, w = -(-h // 2), -(-w // 2)
    assert seen["stage1"].shape == (2, 1 + h * w, 16)
    keys = 1 + -(-h // 2) * -(-w // 2)
    assert seen["stage1.0.attention.attention.weights"].shape == (2, 2, 1 + h * w, keys)


def test_a_query_is_gathered_from_its_neighbourhood_feature_by_feature():
    """3 × 3 sums of one feature: in the middle of ones 9, at an edge 6, in a corner 4; the class token stays."""
    gather = small_cvt().build().eval().get_submodule("stage1.0.attention.query")
    with torch.no_grad():
        gather.gather.weight.fill_(1.0)
        gathered = gather(torch.ones(1, 1 + 9, 16), (3, 3))
    assert gathered[0, 0].tolist() == [1.0] * 16
    expected = torch.tensor([[4.0, 6, 4], [6, 9, 6], [4, 6, 4]])
    torch.testing.assert_close(gathered[0, 1:, 5].reshape(3, 3), expected, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    "stage, message", [({"kernel": 4}, "kernel=4 is even"), ({"d_model": 10, "n_heads": 3}, "does not divide")]
)
def test_a_stage_that_cannot_be_is_named(stage, message):
    with pytest.raises(ValidationError, match=message):
        StageConfig(**stage)
