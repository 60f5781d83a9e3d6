"""JoeyNMT's process: our weights under its names, answers over a pipe, an end that is told.

With PROSECTOR_JOEYNMT, a Python that has it (benchmarks/joeynmt.sh makes one), it is compared itself.
"""

import os
import sys
from pathlib import Path

import pytest
import torch

from prosector.bench import contest, decoding, engines, joeynmt, joeynmt_worker, training
from prosector.config.transformer import TransformerConfig

PYTHON = os.environ.get("PROSECTOR_JOEYNMT", "")
TINY = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}


def model_of(**fields):
    small = contest.config_of("small", d_model=16, n_heads=2, d_ff=32).model_dump()
    return TransformerConfig.model_validate(small | fields).build()


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("source_embedding.weight", "src_embed.lut.weight"),
        ("target_embedding.weight", "trg_embed.lut.weight"),
        ("output.weight", "decoder.output_layer.weight"),
        ("encoder.2.attention.query.weight", "encoder.layers.2.src_src_att.q_layer.weight"),
        ("encoder.0.attention.output.bias", "encoder.layers.0.src_src_att.output_layer.bias"),
        ("encoder.1.norm1.weight", "encoder.layers.1.layer_norm.weight"),
        ("encoder.1.norm2.weight", "encoder.layers.1.feed_forward.layer_norm.weight"),
        ("encoder.final_norm.bias", "encoder.layer_norm.bias"),
        ("decoder.10.self.key.weight", "decoder.layers.10.trg_trg_att.k_layer.weight"),
        ("decoder.1.cross.value.bias", "decoder.layers.1.src_trg_att.v_layer.bias"),
        ("decoder.1.feed_forward.inner.weight", "decoder.layers.1.feed_forward.pwff_layer.0.weight"),
        ("decoder.1.feed_forward.outer.bias", "decoder.layers.1.feed_forward.pwff_layer.3.bias"),
        ("decoder.1.norm1.weight", "decoder.layers.1.x_layer_norm.weight"),
        ("decoder.1.norm2.weight", "decoder.layers.1.dec_layer_norm.weight"),
        ("decoder.1.norm3.bias", "decoder.layers.1.feed_forward.layer_norm.bias"),
        ("decoder.final_norm.weight", "decoder.layer_norm.weight"),
    ],
)
def test_a_weight_has_the_name_that_joeynmt_gives_it(ours, theirs):
    assert joeynmt.their_name(ours) == theirs


@pytest.mark.parametrize("tie", ["all", "target"])
def test_an_order_holds_every_weight_once_a_name(tie):
    model = model_of(tie=tie, output_bias=True)
    order = joeynmt.order_of(model, 1)
    own = [name for name, _ in model.named_parameters(remove_duplicate=False) if name != "output.bias"]
    assert order["weights"].keys() == {joeynmt.their_name(name) for name in own}
    assert order["weights"]["decoder.output_layer.weight"].data_ptr() == model.output.weight.data_ptr()
    assert order["shared"] is (tie == "all")


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"activation": "gelu"}, "JoeyNMT has no model with activation gelu"),
        ({"norm": "rms", "bias": False}, "norm rms, bias False"),
        ({"tie": "none"}, "position sinusoidal and tie none"),
        ({"position": {"kind": "rope"}}, "position rope"),
    ],
)
def test_what_joeynmt_cannot_express_is_named(fields, says):
    with pytest.raises(ValueError, match=says):
        joeynmt.order_of(model_of(**fields), 1)


def test_a_target_goes_up_to_its_end():
    assert joeynmt_worker.until([7, 8, 3, 9], (3, 0), 10) == [7, 8]
    assert joeynmt_worker.until([7, 8, 9], (3, 0), 2) == [7, 8]


def test_the_vocabulary_has_our_special_ids():
    words = joeynmt_worker.Words(8000, {"<pad>": 0, "<unk>": 1, "<sos>": 2, "<eos>": 3})
    assert (words.pad_index, words.unk_index, words.bos_index, words.eos_index, len(words)) == (0, 1, 2, 3, 8000)


# --- the pipe --------------------------------------------------------------------------------------------------------


@pytest.fixture
def speaker(tmp_path, monkeypatch):
    """A process that answers as JoeyNMT's does, but knows two words: `double` and whatever ends it."""
    script = tmp_path / "speaker.py"
    script.write_text(
        "import json, sys\n"
        "print(json.dumps({'joeynmt': '0'}), flush=True)\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    if line != 'double\\n':\n"
        "        sys.exit('KeyError: ' + line)\n"
        "    print(2 * number, flush=True)\n"
    )
    monkeypatch.setattr(joeynmt_worker, "__file__", str(script))
    return joeynmt.JoeyNMT(Path(sys.executable), {"threads": 1})


def test_each_word_is_answered_once_and_in_turn(speaker):
    with speaker as told:
        assert told.versions == {"joeynmt": "0"}
        assert [told.do("double") for _ in range(4)] == [0, 2, 4, 6]
        process = told.process
    assert process.poll() is not None


def test_a_process_that_ends_says_why(speaker):
    with speaker as told, pytest.raises(RuntimeError, match="ended: KeyError: triple"):
        told.do("triple")


def test_a_python_without_joeynmt_is_told_how_to_get_one():
    with pytest.raises(ImportError, match=r"No module named 'joeynmt'; benchmarks/joeynmt\.sh makes"):
        joeynmt.learning(model_of(), {}, Path(sys.executable), 1, {}).__enter__()


def test_a_python_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere: No such file"):
        joeynmt.JoeyNMT(tmp_path / "nowhere", {}).__enter__()


# --- JoeyNMT itself --------------------------------------------------------------------------------------------------

itself = pytest.mark.skipif(not PYTHON, reason="PROSECTOR_JOEYNMT names no Python that has JoeyNMT")


@itself
def test_untrained_joeynmt_has_our_loss(monkeypatch):
    monkeypatch.setitem(contest.SIZES, "tiny", TINY)
    result = training.run("tiny", 0.0, ("float32",), Path(PYTHON))
    assert result.losses["JoeyNMT, float32"] == pytest.approx(result.losses["prosector, sdpa, float32"], abs=1e-5)
    assert result.versions["joeynmt"]


@itself
@pytest.mark.parametrize("beam", [1, 3])
def test_joeynmt_writes_what_our_float32_model_writes(beam, monkeypatch):
    monkeypatch.setitem(contest.SIZES, "tiny", TINY)
    made = contest.made_up("tiny", 3)
    with joeynmt.translating(made, beam, Path(PYTHON), 1) as theirs:
        assert theirs.do("float32") == engines.of_pytorch(made, beam, "float32")()
    threads = torch.get_num_threads()
    result = decoding.run(made, beam, 1, 0.0, joey=Path(PYTHON))
    torch.set_num_threads(threads)
    assert result.entries["JoeyNMT, float32"].same == 1.0
