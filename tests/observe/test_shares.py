"""A logit's shares sum to it, and taking a part away takes its share away."""

import pytest
import torch
from tests.observe.models import SRC, TGT, translator, watched, writer

from prosector.observe import observe
from prosector.observe.shares import logit_shares, parts_of

MODELS = {
    "pre-norm": translator,
    "post-norm": lambda: translator(norm_placement="post"),
    "rms, gated, no bias": lambda: translator(norm="rms", activation="swiglu", bias=False),
    "marian": lambda: translator(norm_placement="post", output_bias=True),
    "t5": lambda: translator(norm="rms", scale_output=True, position="t5"),
    "grouped queries, wide heads": lambda: translator(n_kv_heads=1, d_head=12),
    "a writer": writer,
    "a writer, post-norm, an output of its own": lambda: writer(norm_placement="post", tie=False),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_shares_sum_to_the_logit(name):
    model = MODELS[name]()
    seen = watched(model)
    for row, position, token in ((0, 0, 5), (1, 2, 12), (0, 1, 0)):
        shares = logit_shares(model, seen, row=row, position=position, token=token)
        assert sum(shares.values()) == pytest.approx(seen["logits"][row, position, token].item(), abs=1e-4)
        assert max(map(abs, shares.values())) > 0.01


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_are_named_by_their_addresses(name):
    model = MODELS[name]()
    parts = parts_of(model, watched(model))
    last = len(model.decoder.layers) - 1
    attention = "attention" if name.startswith("a writer") else "cross"
    assert {"decoder.input", f"decoder.{last}.{attention}.head 1", f"decoder.{last}.feed_forward"} <= parts.keys()


def test_a_heads_share_is_what_its_removal_takes_from_the_vector_before_the_last_norm():
    """In the last layer's cross-attention nothing comes after but the feed-forward network; without that, the
    difference of the sums is the head's own vector."""
    model = translator(decoder_layers=1)
    torch.nn.init.zeros_(model.decoder.layers[0].feed_forward.outer.weight)
    with torch.no_grad(), observe(model) as seen:
        model(SRC, TGT)
    with torch.no_grad(), observe(model) as without:
        without.edit("decoder.0.cross.heads", lambda heads: heads.index_fill(1, torch.tensor([1]), 0.0))
        model(SRC, TGT)
    model.decoder.final_norm = None  # the sum itself
    vector = parts_of(model, seen)["decoder.0.cross.head 1"]
    assert torch.allclose(vector.float(), seen["decoder.0"] - without["decoder.0"], atol=1e-5)


def test_batch_norm_has_no_shares():
    model = translator(norm="batch")
    with pytest.raises(ValueError, match="batch norm counts over a batch"):
        parts_of(model, watched(model))
