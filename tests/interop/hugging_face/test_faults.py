"""What cannot be read is an error that names the field, the weight or the file."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.interop.hugging_face.theirs import READERS, TRANSLATORS, VIT, WRITERS, near, rows, saved

from prosector.interop.hugging_face import ARCHITECTURES, from_hugging_face

MODELS = WRITERS | READERS | TRANSLATORS | VIT


@pytest.fixture
def change(tmp_path):
    """A folder of one of theirs, with fields of its config and weights changed."""

    def made(name, fields=None, weights=None):
        saved(MODELS[name], tmp_path)
        path = tmp_path / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | (fields or {})), "utf-8")
        if weights is not None:
            found = load_file(tmp_path / "model.safetensors")
            save_file(weights(found), tmp_path / "model.safetensors")
        return tmp_path

    return made


@pytest.mark.parametrize(
    ("name", "fields", "says"),
    [
        ("gpt2", {"model_type": "mamba"}, "model_type is 'mamba'; known here are gpt2, llama, qwen2, bloom, bert"),
        ("gpt2", {"architectures": ["GPT2ForTokenClassification"]}, "of gpt2, known are GPT2LMHeadModel"),
        ("gpt2", {"scale_attn_weights": False}, "scale_attn_weights is False, and only True can be expressed"),
        ("gpt2", {"activation_function": "mish"}, "activation_function is 'mish'; known are relu, gelu"),
        ("gpt2", {"vocab_size": None}, "vocab_size is missing"),
        ("llama", {"attention_bias": True}, "attention_bias is True, and only False"),
        ("llama", {"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "rope_type is 'llama3'"),
        ("llama, yarn", {"rope_parameters": {"rope_type": "yarn", "truncate": False}}, "truncate is False"),
        ("llama", {"rope_parameters": {"rope_type": "yarn", "new": 1}}, "new of rope_parameters cannot be expressed"),
        ("qwen2", {"use_sliding_window": True}, "use_sliding_window is True"),
        ("bloom", {"apply_residual_connection_post_layernorm": True}, "apply_residual_connection_post_layernorm"),
        ("fills", {"hidden_act": "relu"}, "hidden_act is 'relu', and only 'gelu'"),
        ("fills", {"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ("marian", {"decoder_attention_heads": 2}, "decoder_attention_heads is 2, and only 4"),
        ("t5", {"feed_forward_proj": "gated-mish"}, "feed_forward_proj is 'gated-mish', and only 'relu'"),
    ],
)
def test_a_config_that_cannot_be_expressed_names_the_field(change, name, fields, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        from_hugging_face(change(name, fields))


def test_weights_that_do_not_fit_are_all_listed_by_their_names(change):
    def spoil(found):
        found["transformer.h.0.ln_1.weight"] = torch.ones(7)
        found["transformer.h.9.ln_1.weight"] = torch.ones(24)
        del found["transformer.ln_f.bias"], found["transformer.wpe.weight"]
        found["transformer.wte.weight"][0, 0] = torch.nan
        return found

    says = (
        "missing: transformer.ln_f.bias, transformer.wpe.weight; surplus: transformer.h.9.ln_1.weight; "
        "of another shape: transformer.h.0.ln_1.weight [7] for [24]; not finite: transformer.wte.weight"
    )
    with pytest.raises(ValueError, match=re.escape(says)):
        from_hugging_face(change("gpt2", weights=spoil))


def test_older_names_are_known(change):
    """GPT-2's first files have no prefix and hold masks; BERT's first files call a norm's weights gamma and beta."""

    def first(found):
        found = {name.removeprefix("transformer."): value for name, value in found.items()}
        return found | {"h.0.attn.bias": torch.ones(1, 1, 64, 64).tril()}

    def named_as_in_2018(found):
        renamed = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
        for now, before in renamed.items():
            found = {name.replace(now, before): value for name, value in found.items()}
        return found

    ids = rows((5,))[0]
    ours = from_hugging_face(change("gpt2", weights=first))
    assert near(ours(ids), saved(MODELS["gpt2"], change("gpt2"))(ids).logits)
    ours = from_hugging_face(change("fills", weights=named_as_in_2018))
    assert near(ours(ids), saved(MODELS["fills"], change("fills"))(ids).logits)


def test_weights_in_several_files_are_read_by_their_index(tmp_path):
    theirs = saved(MODELS["llama"], tmp_path, max_shard_size="10KB")
    assert len(list(tmp_path.glob("model-*.safetensors"))) > 1
    ids = rows((5,))[0]
    assert near(from_hugging_face(tmp_path)(ids), theirs(ids).logits)
    gone = sorted(tmp_path.glob("model-*.safetensors"))[0]
    gone.unlink()
    with pytest.raises(FileNotFoundError, match=f"{gone.name} is missing"):
        from_hugging_face(tmp_path)


def test_half_precision_is_read_as_float32(change):
    theirs = saved(MODELS["llama"], change("llama"))
    folder = change("llama", weights=lambda found: {name: value.bfloat16() for name, value in found.items()})
    ours = from_hugging_face(folder)
    assert {weight.dtype for weight in ours.parameters()} == {torch.float32}
    assert torch.equal(ours.embedding.weight, theirs.model.embed_tokens.weight.bfloat16().float())


def test_a_file_outside_the_folder_is_not_read(change):
    folder = change("llama")
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"lm_head.weight": "../model.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
    with pytest.raises(ValueError, match="is not a file of this folder"):
        from_hugging_face(folder)


def test_a_pickle_is_not_read(change):
    folder = change("llama")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="as a pickle, which runs code"):
        from_hugging_face(folder)


def test_an_older_config_says_rope_in_other_words(change):
    theirs = saved(MODELS["llama, yarn"], change("llama, yarn"))
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}
    older = {"rope_parameters": None, "rope_theta": 10000.0, "rope_scaling": scaling}
    ids = rows((30,))[0]
    assert near(from_hugging_face(change("llama, yarn", older))(ids), theirs(ids).logits)


def test_every_architecture_is_tested():
    assert {name.split(",")[0] for name in [*WRITERS, *TRANSLATORS]} | {"bert", "vit"} == set(ARCHITECTURES)


def test_special_ids_are_theirs_where_they_say_them_and_null_is_none(change):
    said = from_hugging_face(change("llama", {"bos_token_id": None, "eos_token_id": [2, 7]})).config.special
    assert (said.pad, said.sos, said.ends) == (None, None, [2, 7])
    folder = change("llama")
    settings = json.loads((folder / "config.json").read_text("utf-8"))
    del settings["bos_token_id"], settings["eos_token_id"]
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    usual = from_hugging_face(folder).config.special
    assert (usual.sos, usual.ends) == (1, [2])
