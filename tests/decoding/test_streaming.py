"""A translation bit by bit: put together it is the translation, whatever the engine and the search."""

import pytest
from tests.decoding.rounded import V, made

import prosector
from prosector.config.decoding import decoding_from
from prosector.decoding import native
from prosector.decoding.folder import write_model
from prosector.decoding.installed import find_model
from prosector.decoding.native import NativeTranslator
from prosector.decoding.translator import load
from prosector.text.characters import CharacterTokenizer

core = native.core()
needs_core = pytest.mark.skipif(core is None, reason="no compiler has built the native core")
TEXT = "一丁七。\n\n 丄丅七丁一。一一！\n12"
HOW = [{"beam": 1}, {"beam": 4}, {"temperature": 0.7, "seed": 3}]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("streaming")
    characters = CharacterTokenizer([*(chr(code) for code in range(0x4E00, 0x4E00 + V - 6)), "。", "！"])
    write_model(path, *made(), (characters, characters), "")
    return path


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("engine", [load, pytest.param(NativeTranslator.load, marks=needs_core)])
def test_put_together_the_bits_are_the_translation(folder, engine, how):
    translator = engine(folder)
    assert "".join(translator.stream(TEXT, **how)) == translator.translate(TEXT, **how)
    assert "".join(translator.stream("")) == ""


@needs_core
@pytest.mark.parametrize("beam", [1, 4])
def test_what_was_shown_is_never_taken_back(beam):
    """After each step of a real model: a beginning of the result, which grows before the end comes."""
    translator = NativeTranslator.load(find_model("zh-en"))
    how = decoding_from(None, {"beam": beam})
    source = translator.ids("昨天晚上我和朋友们一起去看了一场电影。")
    stream = native.begun(translator.core, source, [50], [], [], how)
    seen = [[]]
    while stream.step():
        seen.append(stream.certain)
    result = stream.result[0][0]
    assert native.searched(translator.core, [source], [50], [], [], how, 1)[0][0].ids == result
    for earlier, later in zip(seen, [*seen[1:], result], strict=True):
        assert later[: len(earlier)] == earlier
    assert len({len(ids) for ids in seen}) > (5 if beam == 1 else 1)


@needs_core
def test_half_of_a_character_is_not_shown():
    """A character of several bytes comes whole."""
    bits = list(NativeTranslator.load(find_model("en-zh")).stream("The 𠮷 野 restaurant 🎉 and 龘.", beam=1))
    assert "�" not in "".join(bits[:-2])
    assert len(bits) > 3


@needs_core
def test_the_core_is_loaded_by_name():
    translator = prosector.load("zh-en", engine="native")
    assert isinstance(translator, NativeTranslator)
    bits = list(translator.stream("我喜欢深度学习。", beam=1))
    assert "".join(bits) == "I like deep learning."
    assert len([bit for bit in bits if bit]) > 2
    with pytest.raises(ValueError, match="engine 'abacus': there are pytorch and native"):
        prosector.load("zh-en", engine="abacus")
    with pytest.raises(ValueError, match="gpt cannot translate"):
        prosector.load("gpt", engine="native")
