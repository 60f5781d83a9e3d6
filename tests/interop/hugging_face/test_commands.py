"""`prosector import` and `load("hf:…")`: an imported folder is one that every command takes."""

import json
import sys
import warnings

import pytest
import torch
from tests.interop.hugging_face import folders

import prosector as house
from prosector.cli.main import main


@pytest.fixture
def prosector(capsys):
    """Run a command line here and now."""

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run


def continued(theirs, fast, text, n, forbidden=()):
    """What theirs writes after a text, with no chance in it."""
    ids = torch.tensor([fast(text)["input_ids"]])
    with torch.no_grad():
        options = {"max_new_tokens": n, "do_sample": False, "pad_token_id": 0, "suppress_tokens": forbidden or None}
        found = theirs.generate(ids, attention_mask=torch.ones_like(ids), **options)
    return fast.decode(found[0], skip_special_tokens=True)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_generate_goes_on_as_theirs_does(name, prosector, tmp_path):
    theirs, fast = getattr(folders, name)(tmp_path / "theirs")
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")[0] == 0
    spare = list(range(len(fast), theirs.config.vocab_size))
    wanted = continued(theirs, fast, "The cat", 12, [*spare, *([0] if name == "llama" else [])])
    options = ("--temperature", 0, "--max-length", 12, "--lines", 99)
    code, out, _ = prosector("generate", "--model", tmp_path / "ours", *options, "The cat")
    assert code == 0
    assert out.rstrip("\n") == wanted.rstrip("\n").rstrip("\ufffd")


def test_a_writer_begins_as_its_tokenizer_does(tmp_path):
    """GPT-2's puts nothing before a text, Llama's a begin; of nothing, each begins with what it has."""
    folders.gpt2(tmp_path / "gpt2")
    folders.llama(tmp_path / "llama")
    gpt2, llama = (house.load(f"hf:{tmp_path / name}") for name in ("gpt2", "llama"))
    assert gpt2.read("The cat") == gpt2.tokenizer.encode("The cat")
    assert llama.read("The cat") == [0, *llama.tokenizer.encode("The cat")]
    assert (gpt2.read(""), llama.read("")) == ([0], [0])
    assert llama.special.ends == [1, 2]


def test_fill_finds_the_words_that_theirs_finds(prosector, tmp_path):
    theirs, fast = folders.bert(tmp_path / "theirs")
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")[0] == 0
    text = "The cat [MASK] on the mat"
    ids = torch.tensor([fast(text)["input_ids"]])
    with torch.no_grad():
        scores = theirs(ids).logits[0, ids[0].tolist().index(fast.mask_token_id)]
    scores[:5] = -torch.inf
    code, out, _ = prosector("fill", "--model", tmp_path / "ours", "--json", text)
    assert code == 0
    [gap] = json.loads(out)["gaps"]
    assert [guess["name"] for guess in gap] == [fast.convert_ids_to_tokens(int(i)) for i in scores.topk(5).indices]
    assert gap[0]["probability"] == pytest.approx(float(scores.softmax(0).max()), rel=1e-4)


def test_classify_gives_the_labels_of_theirs(tmp_path):
    names = {"id2label": {0: "good", 1: "bad", 2: "odd"}, "label2id": {"good": 0, "bad": 1, "odd": 2}}
    theirs, fast = folders.bert(tmp_path, folders.theirs.BertForSequenceClassification, **names)
    reader = house.load(f"hf:{tmp_path}")
    texts = ["The cat sat", "A dog and a cat read a book"]
    with torch.no_grad():
        wanted = theirs(**fast(texts, padding=True, return_tensors="pt", return_token_type_ids=False)).logits.softmax(1)
    for guesses, chances in zip(reader.classify(texts), wanted, strict=True):
        assert guesses[0].name == ["good", "bad", "odd"][folders.best(chances)]
        assert guesses[0].probability == pytest.approx(float(chances.max()), rel=1e-4)


def test_predict_finds_the_class_that_theirs_finds(prosector, tmp_path):
    from PIL import Image

    theirs, names = folders.vit(tmp_path / "theirs")
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")[0] == 0
    pixels = torch.randint(0, 256, (16, 16, 3), dtype=torch.uint8)
    Image.fromarray(pixels.numpy()).save(tmp_path / "it.png")
    with torch.no_grad():
        scores = theirs(((pixels / 255 - 0.4) / 0.25).permute(2, 0, 1)[None]).logits[0]
    code, out, _ = prosector("predict", "--model", tmp_path / "ours", tmp_path / "it.png", "--json")
    assert code == 0
    [guess] = json.loads(out)[0]["classes"]
    assert guess["name"] == names[folders.best(scores)]
    assert guess["probability"] == pytest.approx(float(scores.softmax(0).max()), rel=1e-4)


@pytest.mark.parametrize("separate", [False, True])
def test_translate_writes_what_theirs_writes(separate, prosector, tmp_path):
    theirs, fast = folders.marian(tmp_path / "theirs", separate)
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")[0] == 0
    ours = house.load(tmp_path / "ours")
    texts = ["我喜欢深度学习。", "我喜欢猫"]
    for text in [*texts, "The cat sat", ">>en<< 我"]:
        assert ours.ids(text) == fast(text)["input_ids"]
    with torch.no_grad():
        batch = fast(texts, return_tensors="pt", padding=True)
        pad = theirs.config.pad_token_id
        options = {"do_sample": False, "num_beams": 1, "max_new_tokens": 12, "suppress_tokens": [1, pad]}
        found = theirs.generate(**batch, **options)
    wanted = [fast.decode(row, skip_special_tokens=True) for row in found]
    given = ours.translate(texts, beam=1, max_length=12, repetition_guard=False, by_sentence=False)
    assert [text[:20] for text in given] == [text[:20] for text in wanted]


@pytest.mark.parametrize("separate", [False, True])
def test_an_imported_marian_goes_back_as_it_came(separate, prosector, tmp_path):
    theirs, fast = folders.marian(tmp_path / "theirs", separate)
    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")[0] == 0
    assert prosector("export", "--model", tmp_path / "ours", "--out", tmp_path / "again")[0] == 0
    assert prosector("import", tmp_path / "again", "--out", tmp_path / "back")[0] == 0
    names = ["source.spm", "target.spm", *(["vocab.json", "target_vocab.json"] if separate else ["vocab.json"])]
    for name in names:
        read = (
            (lambda path: json.loads(path.read_text())) if name.endswith("json") else (lambda path: path.read_bytes())
        )
        assert read(tmp_path / "again" / name) == read(tmp_path / "theirs" / name)
    assert (tmp_path / "again/target_vocab.json").exists() == separate
    first, second = house.load(tmp_path / "ours"), house.load(tmp_path / "back")
    assert first.translate(["我喜欢猫"], max_length=12) == second.translate(["我喜欢猫"], max_length=12)


def test_what_the_recipe_marian_trains_transformers_loads(prosector, tmp_path):
    from transformers.models.marian import MarianMTModel, MarianTokenizer

    pairs = [f"I like number {n}\t我喜欢{n}号" for n in range(80)]
    (tmp_path / "pairs.tsv").write_text("en\tzh\n" + "\n".join(pairs) + "\n", "utf-8")
    sizes = ("tokenizer.vocab_size=420", "training.steps=4", "training.warmup=2", "model.d_model=32")
    given = [part for setting in sizes for part in ("--set", setting)]
    data, mine = ("--data", tmp_path / "pairs.tsv"), tmp_path / "mine"
    assert prosector("train", "marian", *data, "--out", mine, *given)[0] == 0
    assert prosector("export", "--model", mine, "--out", tmp_path / "theirs")[0] == 0

    ours, theirs = house.load(mine), MarianMTModel.from_pretrained(tmp_path / "theirs").eval()
    with warnings.catch_warnings():  # of a library that normalises signs, which is not used here
        warnings.simplefilter("ignore")
        fast = MarianTokenizer.from_pretrained(tmp_path / "theirs")
    src = fast("我喜欢7号", return_tensors="pt")["input_ids"]
    tgt = torch.tensor([[2, *ours.target.encode("I like number 7")]])
    assert src.tolist() == [ours.ids("我喜欢7号")]
    with torch.no_grad():
        wanted, found = theirs(input_ids=src, decoder_input_ids=tgt).logits, ours.model(src, tgt)
    assert (found - wanted).abs().max() < 1e-5 * wanted.abs().max()

    assert prosector("import", tmp_path / "theirs", "--out", tmp_path / "back")[0] == 0
    back = house.load(tmp_path / "back")
    assert back.ids("我喜欢7号") == ours.ids("我喜欢7号")
    assert back.translate("我喜欢7号", max_length=8) == ours.translate("我喜欢7号", max_length=8)


def test_what_cannot_be_trained_or_measured_says_so(prosector, tmp_path):
    folders.gpt2(tmp_path / "theirs")
    prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    (tmp_path / "text.txt").write_text("The cat\n" * 20, "utf-8")
    code, _, err = prosector("evaluate", "--model", tmp_path / "ours", "--data", tmp_path / "text.txt")
    assert code == 2
    assert "measuring an imported model is not possible" in err


def test_where_a_folder_of_ours_is_wanted_importing_is_named(prosector, tmp_path):
    folders.vit(tmp_path)
    for model, named in ((tmp_path, tmp_path), (f"hf:{tmp_path}", tmp_path), ("hf:some/name", "some/name")):
        code, _, err = prosector("predict", "--model", model, "x.png")
        assert code == 2
        assert f"prosector import {named} --out DIR" in err


def test_a_name_in_a_folder_that_is_here_is_no_name_on_the_hub(prosector, tmp_path, monkeypatch):
    (tmp_path / "runs").mkdir()
    monkeypatch.chdir(tmp_path)
    code, _, err = prosector("import", "runs/gone", "--out", tmp_path / "ours")
    assert (code, err) == (2, "prosector import: there is no folder runs/gone\n")


def test_what_is_ours_already_is_not_imported(prosector, tmp_path):
    import shutil

    from prosector.decoding import find_model

    shutil.copytree(find_model("zh-en"), tmp_path / "ours")
    code, _, err = prosector("import", tmp_path / "ours", "--out", tmp_path / "again")
    assert code == 2
    assert "a model of Prosector's own, of the kind transformer, which is used as it is: --model FOLDER" in err
    assert not (tmp_path / "again").exists()


def test_a_model_of_ctranslate2s_is_known_as_one(prosector, tmp_path):
    """The config is one that its converter writes."""
    config = '{"add_source_bos": false, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}'
    (tmp_path / "config.json").write_text(config, "utf-8")
    code, _, err = prosector("import", tmp_path, "--out", tmp_path / "ours")
    assert code == 2
    assert "a model of CTranslate2's, which has no way back" in err


def test_a_folder_with_a_model_is_not_overwritten(prosector, tmp_path):
    folders.vit(tmp_path / "theirs")
    prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    code, _, err = prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    assert code == 2
    assert "holds a model already" in err


@pytest.mark.parametrize("path", ["/nowhere/at/all", "./nothing", "a/b/c"])
def test_a_path_that_is_not_there_is_no_name_on_the_hub(path, prosector, tmp_path):
    code, _, err = prosector("import", path, "--out", tmp_path / "ours")
    assert code == 2
    assert f"there is no folder {path}" in err


def test_a_name_that_cannot_be_fetched_is_one_line(prosector, tmp_path):
    code, _, err = prosector("import", "nobody/nothing", "--out", tmp_path / "ours")
    assert code == 2
    assert "there is no folder nobody/nothing here, and no model of that name could be had from the Hub" in err
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    ("library", "name", "says"),
    [("huggingface_hub", "nobody/nothing", "takes huggingface_hub"), ("tokenizers", None, "needs `tokenizers`")],
)
def test_a_library_that_is_missing_is_one_line_that_says_what_to_install(
    library, name, says, prosector, tmp_path, monkeypatch
):
    folders.gpt2(tmp_path / "theirs")
    monkeypatch.setitem(sys.modules, library, None)
    code, _, err = prosector("import", name or tmp_path / "theirs", "--out", tmp_path / "ours")
    assert code == 2
    assert says in err
    assert "pip install 'prosector[hf]'" in err


def test_a_folder_without_tokenizer_json_says_how_to_make_one(prosector, tmp_path):
    folders.gpt2(tmp_path / "theirs")
    (tmp_path / "theirs" / "tokenizer.json").unlink()
    code, _, err = prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    assert code == 2
    assert "has no tokenizer.json: transformers' AutoTokenizer reads older files" in err


def test_a_t5_is_read_in_python_alone(prosector, tmp_path):
    folders.theirs.saved(folders.theirs.TRANSLATORS["t5"], tmp_path / "theirs")
    code, _, err = prosector("import", tmp_path / "theirs", "--out", tmp_path / "ours")
    assert code == 2
    assert "from_hugging_face(folder) reads it as a model" in err
