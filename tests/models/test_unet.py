"""U-Net and Attention U-Net: any size, a class at every place, gates that can be seen and closed."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from prosector.config.unet import AttentionUNetConfig, UNetConfig
from prosector.observe import observe

both = pytest.mark.parametrize("config", [UNetConfig, AttentionUNetConfig])


@given(
    st.sampled_from([UNetConfig, AttentionUNetConfig]),
    st.integers(1, 40), st.integers(1, 40), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3),
    st.sampled_from(["batch", "group", "none"]), st.integers(0, 99),
)  # fmt: skip
def test_for_every_height_and_width_there_is_a_score_at_every_place(config, H, W, d_input, channels, depth, norm, seed):
    torch.manual_seed(seed)
    model = config(d_input=d_input, n_classes=3, channels=channels, depth=depth, norm=norm).build().eval()
    with torch.no_grad():
        logits = model(torch.randn(2, d_input, H, W))
    assert logits.shape == (2, 3, H, W)
    assert logits.isfinite().all()


@both
@pytest.mark.parametrize("norm", ["batch", "group", "none"])
@pytest.mark.parametrize("n_classes", [2, 9])
def test_before_training_every_class_is_as_likely_as_another(config, norm, n_classes):
    model = config(n_classes=n_classes, norm=norm).build()
    pictures, labels = torch.randn(4, 1, 48, 48), torch.randint(n_classes, (4, 48, 48))
    loss = torch.nn.functional.cross_entropy(model(pictures), labels)
    assert loss.item() == pytest.approx(math.log(n_classes), rel=0.25)


@both
def test_a_place_is_classed_by_what_is_near_it_and_not_by_what_is_beyond_the_edge(config):
    """Filling up repeats the edge; what comes out inside the picture has the picture's size."""
    model = config(depth=2).build().eval()
    picture = torch.randn(1, 1, 10, 13)
    with torch.no_grad():
        filled = torch.nn.functional.pad(picture, (0, 3, 0, 2), mode="replicate")
        torch.testing.assert_close(model(picture), model(filled)[..., :10, :13], rtol=0, atol=1e-5)


def test_every_gate_has_its_coefficients_at_its_resolution():
    model = AttentionUNetConfig(channels=4, depth=3).build().eval()
    with torch.no_grad(), observe(model) as seen:
        model(torch.randn(2, 1, 32, 24))
    for level in range(3):
        coefficients = seen[f"gate{level}.coefficients"]
        assert coefficients.shape == (2, 1, 32 // 2**level, 24 // 2**level)
        assert ((coefficients > 0) & (coefficients < 1)).all()


def test_with_open_gates_it_is_a_unet_and_with_closed_ones_nothing_fine_passes():
    gated, plain = (
        AttentionUNetConfig(channels=4, depth=2).build().eval(),
        UNetConfig(channels=4, depth=2).build().eval(),
    )
    plain.load_state_dict({name: value for name, value in gated.state_dict().items() if "gate" not in name})
    picture = torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        with observe(gated, keep=()) as seen:
            seen.edit("gate*.coefficients", torch.ones_like)
            torch.testing.assert_close(gated(picture), plain(picture), rtol=0, atol=0)
        with observe(gated) as seen:
            seen.edit("gate*.coefficients", torch.zeros_like)
            gated(picture)
        assert (seen["gate0"] == 0).all()


@both
def test_it_learns_where_bright_places_are(config):
    """Squares in noise, in a few steps; the gates have gradients."""
    torch.manual_seed(0)
    model = config(channels=4, depth=2).build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        labels = torch.zeros(8, 20, 20, dtype=torch.long)
        for label, (i, j) in zip(labels, torch.randint(0, 14, (8, 2)).tolist(), strict=True):
            label[i : i + 6, j : j + 6] = 1
        pictures = labels[:, None] + 0.5 * torch.randn(8, 1, 20, 20)
        loss = torch.nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    right = (model.eval()(pictures).argmax(1) == labels).float().mean().item()
    assert right > 0.95
