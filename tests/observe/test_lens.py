"""The logit lens ends at the model's own logits."""

import pytest
import torch
from tests.observe.models import translator, watched, writer

from prosector.observe.lens import logit_lens


@pytest.mark.parametrize(
    "model",
    [
        translator(),
        translator(norm_placement="post"),
        translator(scale_output=True, norm="rms", tie="all", source_vocab=13),
        writer(),
        writer(norm_placement="post"),
    ],
)
def test_the_last_layers_logits_are_the_models(model):
    seen = watched(model)
    found = logit_lens(model, seen)
    layers = len(model.decoder.layers)
    assert found.shape == (layers + 1, *seen["logits"].shape)
    assert torch.allclose(found[-1], seen["logits"], atol=1e-5)
    assert not torch.allclose(found[0], found[-1], atol=0.1)


def test_after_the_embeddings_it_is_the_table_of_what_went_in():
    model = translator()
    seen = watched(model)
    first = model.output(model.decoder.final_norm(seen["decoder.input"]))
    assert torch.allclose(logit_lens(model, seen)[0], first)
