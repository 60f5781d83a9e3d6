"""CTranslate2: the same probabilities, the same words; what it cannot do is said."""

import itertools
import json

import ctranslate2
import pytest
import torch
from tests.interop.engines.folders import SENTENCES, texts, written
from tests.interop.hugging_face import folders as hugging_face

import prosector
from prosector.decoding import find_model
from prosector.decoding.refilling import RefillingBeam
from prosector.decoding.translator import Translator
from prosector.interop.engines import ctranslate2_engine, export_ctranslate2, load_engine
from prosector.interop.engines.ctranslate2_engine import first_offence
from prosector.interop.engines.ctranslate2_spec import pieces_of
from prosector.interop.hugging_face.folder import import_folder
from prosector.text.characters import CharacterTokenizer

# Every field that their description has a word for, each in one model at least.
MODELS = {
    "as shipped": {},
    "2017": {"norm_placement": "post", "tie": "none", "norm_eps": 1e-3},
    "marian": {
        "norm_placement": "post",
        "activation": "swish",
        "output_bias": True,
        "position": {"kind": "sinusoidal", "layout": "half-split"},
    },
    "modern": {"norm": "rms", "activation": "swiglu", "bias": False, "qkv_bias": True},
    "learned": {"position": {"kind": "learned", "max_length": 30}, "activation": "gelu", "embedding_norm": True},
    "gated": {"activation": "geglu", "scale_embedding": False, "final_norm": False},
    "one table": {"tie": "all", "source_vocab": 19, "activation": "gelu-tanh"},
    "uneven": {"encoder_layers": 1, "decoder_layers": 3, "bias": False},
}


def log_p(model, src, tgt):
    """log p of each token of a target and of its end."""
    with torch.inference_mode():
        scores = model(torch.tensor([src]), torch.tensor([[2, *tgt]]))[0].log_softmax(-1)
    return [scores[place, token].item() for place, token in enumerate([*tgt, 3])]


@pytest.mark.parametrize("name", MODELS)
def test_every_token_has_the_same_log_p(name, tmp_path):
    model, source, target = written(tmp_path / "ours", **MODELS[name])
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    theirs = ctranslate2.Translator(str(tmp_path / "theirs" / "ctranslate2"))
    for read, say in zip(texts(source), reversed(texts(target)), strict=True):
        src, tgt = [*source.encode(read), 3], target.encode(say)
        [found] = theirs.score_batch([list(map(source.piece, src))], [list(map(target.piece, tgt))])
        assert found.log_probs == pytest.approx(log_p(model, src, tgt), abs=2e-4)


@pytest.mark.parametrize("number", range(4))
def test_greedy_it_writes_what_we_write_with_the_guard_and_without(number, tmp_path):
    """A random model repeats itself often; what the guard turned away from is scored as we score it."""
    torch.manual_seed(number)
    _, source, _ = written(tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    engines = prosector.load(tmp_path / "ours"), load_engine("ctranslate2", tmp_path / "theirs")
    loose, guarded = (
        [[best[0] for best in each.hypotheses(texts(source), beam=1, repetition_guard=guard)] for each in engines]
        for guard in (False, True)
    )
    for ours, theirs in (loose, guarded):
        assert [(one.text, one.finished) for one in theirs] == [(one.text, one.finished) for one in ours]
    for ours, theirs, before in zip(*guarded, loose[1], strict=True):
        if theirs.text != before.text:
            assert theirs.score == pytest.approx(ours.score, abs=1e-3)


def test_no_candidate_of_a_beam_says_what_the_guard_forbids(tmp_path):
    _, source, target = written(tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    theirs = load_engine("ctranslate2", tmp_path / "theirs")
    [text] = texts(source, (12,))
    loose, guarded = (theirs.hypotheses(text, n_best=4, repetition_guard=guard)[0] for guard in (False, True))
    assert loose != guarded
    guard = prosector.decoding.RepetitionGuard([text], theirs.wordiness)
    assert not any(first_offence(target.encode(one.text), lambda ids: guard(0, ids)) for one in guarded)


def test_an_offence_is_the_beginning_that_leads_to_it():
    assert first_offence([4, 5, 5, 5, 6], lambda ids: [5] if ids[-2:] == [5, 5] else []) == [4, 5, 5, 5]
    assert first_offence([4, 5, 6], lambda ids: []) == []


@pytest.mark.parametrize(("name", "beam"), [*itertools.product(SENTENCES, (1, 4))])
def test_the_shipped_translators_write_the_same(name, beam, tmp_path):
    export_ctranslate2(find_model(name), tmp_path / "theirs")
    theirs, ours = load_engine("ctranslate2", tmp_path / "theirs"), prosector.load(name)
    wanted, found = (each.hypotheses(SENTENCES[name], beam=beam) for each in (ours, theirs))
    assert [best[0].text for best in found] == [best[0].text for best in wanted]
    assert [best[0].score for best in found] == pytest.approx([best[0].score for best in wanted], abs=2e-3)


def test_with_a_patience_of_one_it_is_the_beam_that_refills(tmp_path, monkeypatch):
    """Their default; why ours is two is in results/engines.md."""
    export_ctranslate2(find_model("zh-en"), tmp_path / "theirs")
    theirs, ours = load_engine("ctranslate2", tmp_path / "theirs"), prosector.load("zh-en")
    monkeypatch.setattr(ctranslate2_engine, "PATIENCE", 1.0)
    found = theirs.translate(SENTENCES["zh-en"], repetition_guard=False)
    for text, translation in zip(SENTENCES["zh-en"], found, strict=True):
        src = torch.tensor([ours.ids(text)])
        [[best]] = prosector.decoding.beam_search(ours.model, src, 2 * src.shape[1] + 10, kind=RefillingBeam)
        assert translation == ours.target.decode(best.ids).strip()


def test_int8_is_a_third_of_the_size_and_writes_nearly_the_same(tmp_path):
    sizes = {}
    for kind in ("float32", "int8"):
        export_ctranslate2(find_model("zh-en"), tmp_path / kind, kind)
        sizes[kind] = (tmp_path / kind / "ctranslate2" / "model.bin").stat().st_size
    assert sizes["int8"] < 0.3 * sizes["float32"]
    whole, small = (load_engine("ctranslate2", tmp_path / kind).translate(SENTENCES["zh-en"]) for kind in sizes)
    assert sum(a == b for a, b in zip(whole, small, strict=True)) >= 9


def test_a_target_is_as_long_as_asked_for(tmp_path):
    _, source, _ = written(tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    [best] = load_engine("ctranslate2", tmp_path / "theirs").hypotheses(texts(source, (5,)), beam=1, max_length=3)
    [wanted] = prosector.load(tmp_path / "ours").hypotheses(texts(source, (5,)), beam=1, max_length=3)
    assert (best[0].text, best[0].finished) == (wanted[0].text, wanted[0].finished)


def test_an_imported_marian_keeps_its_own_ids(tmp_path):
    hugging_face.marian(tmp_path / "marian")
    import_folder(tmp_path / "marian", tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs")
    ours, theirs = Translator.load(tmp_path / "ours"), load_engine("ctranslate2", tmp_path / "theirs")
    assert theirs.translate(hugging_face.TEXTS, beam=1) == ours.translate(hugging_face.TEXTS, beam=1)


def test_every_id_has_a_spelling_of_its_own():
    class Doubled(CharacterTokenizer):
        def piece(self, id):
            return "<unk>" if id == 5 else super().piece(id)

    assert pieces_of(Doubled("abc"), 9)[4:] == ["a", "<id 5>", "c", "<id 7>", "<id 8>"]


def test_what_the_folder_holds(tmp_path):
    written(tmp_path / "ours")
    export_ctranslate2(tmp_path / "ours", tmp_path / "theirs", "int8")
    found = {file.relative_to(tmp_path / "theirs").as_posix() for file in (tmp_path / "theirs").rglob("*.*")}
    inside = {f"ctranslate2/{name}" for name in ("model.bin", "config.json")}
    inside |= {f"ctranslate2/{side}_vocabulary.json" for side in ("source", "target")}
    assert found == inside | {"README.md", "config.json", "source.vocab.json", "target.vocab.json"}
    assert json.loads((tmp_path / "theirs" / "ctranslate2" / "config.json").read_text("utf-8"))["eos_token"] == "<eos>"
    assert "in\nint8" in (tmp_path / "theirs" / "README.md").read_text("utf-8")
