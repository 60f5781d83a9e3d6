"""ONNX: three small graphs around one file of weights, and our own decoders over them."""

import itertools

import onnx
import pytest
import torch
from tests.interop.engines.folders import SENTENCES, texts, written

import prosector
from prosector.decoding import find_model
from prosector.decoding.step import Writer
from prosector.interop.engines import export_onnx, load_engine

# Every kind of part that is written down, each in one model at least.
MODELS = {
    "as shipped": {},
    "2017": {"norm_placement": "post", "tie": "none"},
    "modern": {"norm": "rms", "activation": "swiglu", "bias": False, "n_kv_heads": 2, "position": "none"},
    "marian": {
        "norm_placement": "post",
        "activation": "swish",
        "output_bias": True,
        "position": {"kind": "sinusoidal", "layout": "half-split"},
    },
    "learned": {"position": {"kind": "learned", "max_length": 30}, "activation": "gelu", "embedding_norm": True},
    "odd": {"d_model": 15, "n_heads": 3, "d_head": 4, "norm_eps": 1e-3, "scale_embedding": False, "n_kv_heads": 1},
    "t5": {"attention_scale": 1.0, "scale_output": True, "activation": "geglu", "norm": "rms", "final_norm": False},
    "one table": {"tie": "all", "source_vocab": 19, "activation": "gelu-tanh"},
}


@pytest.fixture(params=MODELS)
def both(request, tmp_path):
    """A translator, and the same by onnxruntime."""
    written(tmp_path / "ours", **MODELS[request.param])
    export_onnx(tmp_path / "ours", tmp_path / "theirs")
    return prosector.load(tmp_path / "ours"), load_engine("onnx", tmp_path / "theirs")


def test_every_step_gives_the_same_log_p(both):
    """Padding, reordered rows and dropped rows included."""
    ours, theirs = both
    src = torch.tensor([[5, 6, 7, 8, 3], [9, 4, 3, 0, 0], [7, 3, 0, 0, 0]])
    writers = [Writer(each.model, src) for each in (ours, theirs)]
    tokens, free = [2, 2, 2], [()] * 3
    for rows in ([0, 1, 2], [2, 2, 0], [1, 0, 2], [0, 2]):
        with torch.inference_mode():
            wanted, found = (writer.step(tokens, free[: len(tokens)]) for writer in writers)
        assert (found - wanted)[wanted > -torch.inf].abs().max() < 2e-5
        tokens = [found[row].argmax().item() for row in rows]
        for writer in writers:
            writer.select(rows)


@pytest.mark.parametrize("how", [{"beam": 1}, {"beam": 4, "n_best": 4}, {"temperature": 1.3, "seed": 5}], ids=str)
def test_every_decoder_writes_the_same(both, how):
    ours, theirs = both
    for wanted, found in zip(*(each.hypotheses(texts(ours.source), **how) for each in both), strict=True):
        assert [one.text for one in found] == [one.text for one in wanted]
        assert [one.score for one in found] == pytest.approx([one.score for one in wanted], abs=1e-4)


def test_the_graphs_are_valid_small_and_share_the_weights(tmp_path):
    model, *_ = written(tmp_path / "ours")
    export_onnx(tmp_path / "ours", tmp_path / "theirs")
    found = {file.name for file in (tmp_path / "theirs").iterdir()}
    graphs = {"encoder.onnx", "first.onnx", "next.onnx"}
    tokenizers = {"source.vocab.json", "target.vocab.json"}
    assert found == graphs | tokenizers | {"README.md", "config.json", "model.safetensors"}
    used = set()
    for name in graphs:
        onnx.checker.check_model(str(tmp_path / "theirs" / name), full_check=True)
        graph = onnx.load(tmp_path / "theirs" / name, load_external_data=False).graph
        used |= {one.name for one in graph.initializer if one.data_location == onnx.TensorProto.EXTERNAL}
        assert all(onnx.numpy_helper.to_array(one).size < 99 for one in graph.initializer if not one.external_data)
    assert used == {name for name, _ in model.named_parameters()}


def test_the_folder_is_still_a_model_of_ours(tmp_path):
    written(tmp_path / "ours")
    export_onnx(tmp_path / "ours", tmp_path / "theirs")
    before, after = (prosector.load(tmp_path / name) for name in ("ours", "theirs"))
    lines = texts(before.source)
    assert after.translate(lines) == before.translate(lines)


@pytest.mark.parametrize(("name", "beam"), [*itertools.product(SENTENCES, (1, 4))])
def test_the_shipped_translators_write_the_same(name, beam, tmp_path):
    export_onnx(find_model(name), tmp_path / "theirs")
    theirs = load_engine("onnx", tmp_path / "theirs")
    assert theirs.translate(SENTENCES[name], beam=beam) == prosector.load(name).translate(SENTENCES[name], beam=beam)
