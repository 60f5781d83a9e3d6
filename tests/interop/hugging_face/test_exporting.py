"""The way back: what ours wrote, `transformers` loads, with the same logits and ids."""

import json
import warnings

import pytest
import torch
from safetensors.torch import save_file
from tests.interop.hugging_face import folders, theirs
from tests.interop.hugging_face.theirs import READERS, TRANSLATORS, VIT, WRITERS, near, rows, saved, stirred

from prosector.cli.main import main
from prosector.config.bert import BertConfig
from prosector.config.folder import PictureFolder, TranslatorFolder
from prosector.config.gpt import GptConfig
from prosector.config.transformer import TransformerConfig
from prosector.config.vit import ViTConfig
from prosector.decoding.folder import write_model
from prosector.decoding.folder_config import read_config
from prosector.interop.hugging_face import from_hugging_face
from prosector.interop.hugging_face.exporting import export_folder, labels_of, to_hugging_face
from prosector.text.pieces import train_pieces

SIZES = {"d_model": 24, "n_heads": 4, "d_ff": 40, "layers": 2, "dropout": 0.0}
LEARNED = {"kind": "learned", "max_length": 32}
WRITTEN = {
    "gpt2": GptConfig(**SIZES, vocab=40, position=LEARNED, activation="gelu"),
    "gpt2, unscaled": GptConfig(**SIZES, vocab=40, position=LEARNED, scale_embedding=False, norm_eps=1e-3),
    "llama": GptConfig(**SIZES, vocab=40, position="rope", norm="rms", bias=False, activation="swiglu", n_kv_heads=2),
    "qwen2, yarn": GptConfig(
        **SIZES, vocab=40, position="yarn", norm="rms", bias=False, qkv_bias=True, activation="swiglu", tie=False
    ),
    "bert": BertConfig(
        **SIZES, vocab=40, position=LEARNED, norm_placement="post", embedding_norm=True, scale_embedding=False,
        mask_row=False,
    ),
    "vit": ViTConfig(**SIZES, picture=(16, 16), d_input=3),
}  # fmt: skip

ALL = WRITERS | READERS | TRANSLATORS | VIT
BOTH_WAYS = [name for name in ALL if not name.startswith(("bloom", "t5", "no head"))]  # these are only read


def loaded(settings, weights, folder):
    """Theirs, from what ours wrote."""
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(settings), "utf-8")
    cls = getattr(theirs, settings["architectures"][0])
    found, report = cls.from_pretrained(folder, output_loading_info=True)
    assert not any(report.values()), report
    return found.eval()


@pytest.mark.parametrize("name", WRITTEN)
def test_theirs_gives_the_logits_of_ours(name, tmp_path):
    ours = stirred(WRITTEN[name].build())
    found = loaded(*to_hugging_face(ours), tmp_path)
    ids = rows((9, 9))[0]
    with torch.no_grad():
        if name == "vit":
            pictures = torch.rand(2, 3, 16, 16)
            assert near(found(pictures).logits, ours(pictures))
        elif name == "bert":
            hidden, wanted = ours.hidden(ids), found(ids)
            assert near(wanted.prediction_logits, ours.fill(hidden))
            assert near(wanted.seq_relationship_logits, ours.classify(hidden))
        else:
            assert near(found(ids).logits, ours(ids))


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_there_and_back_no_weight_has_changed(name, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "back").mkdir()
    before = saved(ALL[name], tmp_path / "there")
    after = loaded(*to_hugging_face(from_hugging_face(tmp_path / "there")), tmp_path / "back")
    computed = ("embed_positions", "cls_token", "vit.embeddings.position")  # sinusoids; two that ours keeps as one
    changed = [
        key
        for key, value in before.state_dict().items()
        if not any(part in key for part in computed) and not torch.equal(value, after.state_dict()[key])
    ]
    assert type(before) is type(after)
    assert changed == []


@pytest.mark.parametrize("joint", [True, False])
def test_a_translator_becomes_a_marian_with_its_tokenizers(joint, tmp_path):
    from transformers.models.marian import MarianTokenizer

    source = train_pieces(folders.TEXTS, vocab_size=386)
    target = source if joint else train_pieces(folders.TEXTS[::-1], vocab_size=388)
    sizes = {name: SIZES[name] for name in ("d_model", "n_heads", "d_ff")} | {"encoder_layers": 2, "decoder_layers": 1}
    vocabularies = {"source_vocab": source.vocab_size, "target_vocab": target.vocab_size}
    config = TransformerConfig(
        **sizes, **vocabularies, tie="all" if joint else "target", norm_placement="post",
        position={"kind": "sinusoidal", "layout": "half-split"},
    )  # fmt: skip
    ours = stirred(config.build())
    folder = TranslatorFolder(source="zh", target="en", model=config)
    write_model(tmp_path / "ours", folder, ours, (source, target), "")
    export_folder(folder, ours, (source, target), tmp_path / "theirs")

    found, report = theirs.MarianMTModel.from_pretrained(tmp_path / "theirs", output_loading_info=True)
    assert not any(report.values()), report
    with warnings.catch_warnings():  # of a library that normalises signs, which is not used here
        warnings.simplefilter("ignore")
        tokenizer = MarianTokenizer.from_pretrained(tmp_path / "theirs")
    for text in [*folders.TEXTS, "a snake 蛇"]:
        assert tokenizer(text)["input_ids"] == [*source.encode(text), 3]
        assert tokenizer(text_target=text)["input_ids"] == [*target.encode(text), 3]
        assert tokenizer.decode(target.encode(text), skip_special_tokens=True) == text
    src = torch.tensor([[*source.encode(folders.TEXTS[1]), 3]])
    tgt = torch.tensor([[2, *target.encode(folders.TEXTS[0])]])
    with torch.no_grad():
        assert near(found.eval()(input_ids=src, decoder_input_ids=tgt).logits, ours(src, tgt))


@pytest.mark.parametrize(
    ("config", "says"),
    [
        (GptConfig(**SIZES, position="alibi"), r"GPT-2 cannot express position.kind='alibi' \(it can be 'learned'\)"),
        (GptConfig(**SIZES, position="rope", activation="swiglu"), "Llama cannot .*'layer'.*; no other .* rope"),
        (BertConfig(**SIZES), "BERT cannot express norm_placement='pre'.*embedding_norm=False.*scale_embedding=True"),
        (ViTConfig(**SIZES, pooling="mean"), "ViT cannot express pooling='mean'"),
        (TransformerConfig(position="rope", norm="rms"), "Marian cannot express position.kind='rope'.*norm='rms'"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_what_theirs_cannot_express_is_named(config, says):
    with pytest.raises(ValueError, match=says):
        to_hugging_face(config.build())


def test_the_command_writes_what_theirs_loads(tmp_path, capsys):
    folders.vit(tmp_path / "theirs")
    assert main(["import", str(tmp_path / "theirs"), "--out", str(tmp_path / "ours")]) == 0
    assert main(["export", "--model", str(tmp_path / "ours"), "--out", str(tmp_path / "back")]) == 0
    found = theirs.ViTForImageClassification.from_pretrained(tmp_path / "back")
    assert found.config.id2label[2] == "fish"
    pictures = torch.rand(1, 3, 16, 16)
    with torch.no_grad():
        assert near(found(pictures).logits, from_hugging_face(tmp_path / "theirs")(pictures))


def test_the_data_set_and_what_was_held_out_of_it_come_back(tmp_path, capsys):
    for verb in (["export", "--model", "vit"], ["import", str(tmp_path / "theirs")]):
        assert main([*verb, "--out", str(tmp_path / ("theirs" if verb[0] == "export" else "back"))]) == 0
    assert read_config(tmp_path / "back").test == 1000
    assert read_config(tmp_path / "back").source == "mnist-5k"


def test_two_classes_of_one_name_stay_two():
    assert labels_of(PictureFolder(
        kind="vit", classes=("crane", "cat", "crane"), size=(28, 28), source="", test=0, mean=0.5, deviation=0.5,
        model=ViTConfig(n_classes=3),
    ))["id2label"] == {"0": "crane", "1": "cat", "2": "crane"}  # fmt: skip
