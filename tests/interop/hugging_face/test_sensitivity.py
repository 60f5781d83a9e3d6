"""What well-known libraries got wrong would be seen: each mistake, made in ours on purpose, moves the logits."""

import pytest
import torch
from tests.interop.hugging_face.theirs import TRANSLATORS, WRITERS, near, rows, saved

from prosector.attention.functional import softmax_over_keys
from prosector.interop.hugging_face import from_hugging_face
from prosector.positions import AlibiPosition, alibi_slopes, rotate_interleaved, t5_bucket


def upside_down(position):
    """YaRN's ramp the wrong way round: fast pairs are slowed down, slow ones are not."""
    right = position.frequencies

    def frequencies(dtype, device):
        kept = position.theta ** (-torch.arange(0, position.d_head, 2, dtype=dtype) / position.d_head)
        return kept + kept / position.factor - right(dtype, device)

    position.frequencies = frequencies


def steeper(position):
    """ALiBi with the slopes of the next power of two."""
    position.n_heads = 8
    right = position.bias
    position.bias = lambda q, k: right(q, k)[:, :6]


MISTAKES = [
    ("llama, yarn", "the ramp upside down", upside_down),
    ("llama, yarn", "no attention factor", lambda position: setattr(position, "attention_factor", 1.0)),
    ("llama, yarn", "the factor twice", lambda position: setattr(position, "attention_factor", 1.1386**2)),
    ("llama", "pairs side by side", lambda position: setattr(position, "turn", rotate_interleaved)),
    ("llama", "another base", lambda position: setattr(position, "theta", 9000.0)),
    ("bloom, six heads", "the slopes of eight heads", steeper),
    ("t5", "buckets that are wider", lambda position: setattr(position, "max_distance", 40)),
    ("t5", "an encoder's buckets as a decoder's", lambda position: setattr(position, "bidirectional", False)),
]


@pytest.mark.parametrize(("name", "what", "spoil"), MISTAKES, ids=[f"{name}: {what}" for name, what, _ in MISTAKES])
def test_a_mistake_in_positions_moves_the_logits(name, what, spoil, tmp_path):
    theirs = saved((WRITERS | TRANSLATORS)[name], tmp_path)
    ours = from_hugging_face(tmp_path)
    ids = rows((30, 30))[0]
    inputs = (ids, ids) if name == "t5" else (ids,)
    with torch.no_grad():
        named = {"input_ids": ids, "decoder_input_ids": ids} if name == "t5" else {"input_ids": ids}
        wanted = theirs(**named).logits
        assert near(ours(*inputs), wanted)
        spoil(ours.encoder.position if name == "t5" else ours.decoder.position)
        assert not near(ours(*inputs), wanted, bound=1e-4)


def test_alibis_sign_is_the_papers():
    """A key farther away gets a lower weight; BLOOM adds slope · key position, which differs by a constant a row."""
    positions = torch.arange(5)
    ours = AlibiPosition(4).bias(positions, positions)
    theirs = alibi_slopes(4)[None, :, None, None] * positions
    causal = torch.ones(5, 5, dtype=torch.bool).tril()
    assert torch.allclose(softmax_over_keys(ours, causal), softmax_over_keys(theirs.expand_as(ours), causal), atol=1e-6)


def test_t5s_buckets_are_theirs_at_every_distance():
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(-300, 301)[None]
    for bidirectional in (True, False):
        for n, far in ((32, 128), (8, 20), (64, 1000)):
            wanted = T5Attention._relative_position_bucket(distances, bidirectional, n, far)
            found = t5_bucket(distances, bidirectional=bidirectional, num_buckets=n, max_distance=far)
            assert torch.equal(found, wanted)
