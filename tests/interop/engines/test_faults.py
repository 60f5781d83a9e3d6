"""What cannot be exported or used is one error that names the field, the file or the package."""

import sys

import pytest
from tests.interop.engines.folders import texts, written
from tests.interop.hugging_face import folders as hugging_face

from prosector.config.folder import TranslatorFolder
from prosector.config.recurrent import RnnConfig
from prosector.config.transformer import TransformerConfig
from prosector.decoding.folder import write_model
from prosector.interop.engines import export_ctranslate2, export_onnx, load_engine
from prosector.interop.engines.ctranslate2_spec import require_ctranslate2
from prosector.interop.engines.onnx_graph import places
from prosector.interop.engines.onnx_model import require_onnx
from prosector.interop.hugging_face.folder import import_folder
from prosector.models.weights import save_weights
from prosector.text.characters import CharacterTokenizer

EXPORTS = {"ctranslate2": export_ctranslate2, "onnx": export_onnx}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"position": "rope"}, "position.kind='rope' (it can be 'sinusoidal' or 'learned')"),
        ({"position": "none"}, "position.kind='none'"),
        ({"norm": "batch"}, "norm='batch' (it can be 'layer' or 'rms')"),
        ({"norm_placement": "post", "final_norm": True}, "final_norm=True"),
        ({"n_kv_heads": 2}, "n_kv_heads=2"),
        ({"d_head": 32}, "d_head=32"),
        ({"attention_scale": 1.0}, "attention_scale=1.0"),
        ({"scale_output": True}, "scale_output=True"),
        ({"special": {"never": [7]}}, "special.never=(7,)"),
    ],
)
def test_what_ctranslate2_has_no_word_for_is_named(changes, field):
    with pytest.raises(ValueError, match="CTranslate2 cannot express ") as error:
        require_ctranslate2(TransformerConfig(**changes))
    assert field in str(error.value)


@pytest.mark.parametrize(
    ("changes", "field"), [({"position": "alibi"}, "position.kind='alibi'"), ({"norm": "batch"}, "norm='batch'")]
)
def test_what_is_not_written_down_in_onnx_is_named(changes, field):
    with pytest.raises(ValueError, match="ONNX cannot express ") as error:
        require_onnx(TransformerConfig(**changes))
    assert field in str(error.value)


def test_all_fields_are_named_at_once():
    with pytest.raises(ValueError, match=r"position\.kind='t5' .*, norm='batch'"):
        require_onnx(TransformerConfig(position="t5", norm="batch"))


@pytest.mark.parametrize("target", EXPORTS)
def test_nothing_is_written_where_it_cannot_be_or_where_there_is_a_model(target, tmp_path):
    written(tmp_path / "rope", position="rope")
    with pytest.raises(ValueError, match=r"position\.kind"):
        EXPORTS[target](tmp_path / "rope", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileExistsError, match="holds a model already"):
        EXPORTS[target](tmp_path / "rope", tmp_path / "rope")


@pytest.mark.parametrize("target", EXPORTS)
def test_what_does_not_translate_is_refused(target, tmp_path):
    hugging_face.gpt2(tmp_path / "theirs")
    import_folder(tmp_path / "theirs", tmp_path / "gpt")
    with pytest.raises(ValueError, match="cannot translate: it is of the kind gpt"):
        EXPORTS[target](tmp_path / "gpt", tmp_path / "out")


@pytest.mark.parametrize("target", EXPORTS)
def test_a_recurrent_network_is_no_transformer(target, tmp_path):
    config = RnnConfig(source_vocab=5, target_vocab=5)
    folder = TranslatorFolder(kind="rnn", source="zh", target="en", model=config)
    write_model(tmp_path / "rnn", folder, config.build(), [CharacterTokenizer("a"), CharacterTokenizer("b")], "")
    with pytest.raises(ValueError, match=r"kind='rnn' \(it can be 'transformer'\)"):
        EXPORTS[target](tmp_path / "rnn", tmp_path / "out")


@pytest.mark.parametrize(
    ("library", "target", "extra"),
    [("ctranslate2", "ctranslate2", "ctranslate2"), ("onnx", "onnx", "onnx"), ("onnxruntime", "onnx", "onnx")],
)
def test_a_missing_library_says_what_to_install(library, target, extra, tmp_path, monkeypatch):
    written(tmp_path / "ours")
    export = EXPORTS[target]
    if library != "onnxruntime":
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"needs {library}: pip install 'prosector\[{extra}\]'"):
            export(tmp_path / "ours", tmp_path / "out")
        assert not (tmp_path / "out").exists()
        monkeypatch.undo()
    export(tmp_path / "ours", tmp_path / "out")
    if library != "onnx":  # which only writes
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=rf"needs {library}: pip install 'prosector\[{extra}\]'"):
            load_engine(target, tmp_path / "out")


@pytest.mark.parametrize(("engine", "file"), [("ctranslate2", "ctranslate2/model.bin"), ("onnx", "encoder.onnx")])
def test_a_folder_of_something_else_says_what_is_missing(engine, file, tmp_path):
    written(tmp_path / "ours")
    with pytest.raises(FileNotFoundError, match=f"has no {file}; prosector export --to {engine} writes one"):
        load_engine(engine, tmp_path / "ours")


@pytest.mark.parametrize(("engine", "file"), [("ctranslate2", "ctranslate2/model.bin"), ("onnx", "next.onnx")])
def test_a_damaged_file_is_named(engine, file, tmp_path):
    written(tmp_path / "ours")
    EXPORTS[engine](tmp_path / "ours", tmp_path / "out")
    (tmp_path / "out" / file).write_bytes(b"nothing of the kind")
    with pytest.raises(ValueError, match=str(tmp_path / "out" / file.split("/")[0])):
        load_engine(engine, tmp_path / "out")


def test_ctranslate2_does_not_draw(tmp_path):
    _, source, _ = written(tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "out")
    with pytest.raises(ValueError, match="leave out temperature, top_k, top_p and seed"):
        load_engine("ctranslate2", tmp_path / "out").translate(texts(source), seed=3)


def test_there_are_two_engines(tmp_path):
    with pytest.raises(ValueError, match="no engine 'steam'; there are ctranslate2, onnx"):
        load_engine("steam", tmp_path)


def test_graphs_point_into_float32_alone(tmp_path):
    model, *_ = written(tmp_path / "ours")
    save_weights(model.half(), tmp_path / "half.safetensors")
    with pytest.raises(ValueError, match="is not in float32"):
        places(tmp_path / "half.safetensors")
