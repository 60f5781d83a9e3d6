"""The translator: one translation for each text, in order, and nothing lost, whatever the text."""

import functools
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.decoding.tiny import Constant, Copyist, tiny
from tests.text.corpus import CHINESE, ENGLISH, HARD

from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig
from prosector.decoding import Translator
from prosector.text.characters import train_characters
from prosector.text.chinese import HAN
from prosector.text.pieces import train_pieces
from prosector.text.special import EOS


@functools.cache
def pieces():
    """A tokenizer that can spell every text."""
    return train_pieces([*CHINESE, *ENGLISH], vocab_size=600)


def config_of(tokenizer, target="en", **fields):
    sizes = {"source_vocab": tokenizer.vocab_size, "target_vocab": tokenizer.vocab_size}
    languages = {"source": {"en": "zh", "zh": "en"}[target], "target": target}
    return TranslatorFolder(**({"max_tokens": 24, "model": TransformerConfig(**sizes)} | languages | fields))


def copyist(target="en", **fields):
    """It writes what it reads, so that its translation says what became of the text."""
    return Translator(config_of(pieces(), target, **fields), Copyist(pieces().vocab_size), pieces(), pieces())


def babbler(seed=0):
    """A random model in float64 that writes Chinese characters."""
    tokenizer = train_characters([*CHINESE, *ENGLISH], vocab_size=60)
    model = tiny(seed, tokenizer.vocab_size)
    return Translator(config_of(tokenizer, "zh", model=model.config), model, tokenizer, tokenizer)


# --- one for each, in order --------------------------------------------------------------------------------------


def test_one_text_gives_one_translation_and_several_give_a_list():
    assert copyist().translate("我喜欢深度学习。", beam=1) == "我喜欢深度学习。"
    assert copyist().translate(["我喜欢深度学习。"], beam=1) == ["我喜欢深度学习。"]
    assert copyist().translate([], beam=1) == []
    assert copyist().translate(("猫", "狗"), beam=1) == ["猫", "狗"]


@pytest.mark.parametrize("fields", [{"beam": 1}, {"beam": 3}, {"top_k": 1}, {"beam": 1, "batch_tokens": 1}])
def test_each_is_in_its_place_blank_ones_too(fields):
    texts = ["猫睡在旧椅子上。", "", "猫", "   \t", *ENGLISH[:5], "\n \n", "\u3000", *CHINESE[:5]]
    assert copyist().translate(texts, **fields) == [text if text.strip() else "" for text in texts]


def test_line_breaks_stay_where_they_stood():
    text = "\n猫\n\n  狗 \r\n\r\n鱼\n"
    assert copyist().translate(text, beam=1) == "\n猫\n\n狗\r\n\r\n鱼\n"


def test_what_has_no_letter_stays_as_it_is():
    """Even a model that babbles has nothing to say about them."""
    texts = ["……", "?!", " — ", "😀😀", "\0", "。\n！", "1,000,000"]
    assert babbler().translate(texts) == ["……", "?!", "—", "😀😀", "\0", "。\n！", "1,000,000"]


# --- long text ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("by_sentence", "max_tokens", "whole"), [(True, 500, False), (False, 500, True), (False, 24, False)]
)
def test_each_sentence_is_translated_by_itself_or_only_where_the_line_is_too_long(by_sentence, max_tokens, whole):
    seen = []
    translator = copyist(max_tokens=max_tokens)
    translator.ids = lambda text, ids=translator.ids: (seen.append(text), ids(text))[1]
    sentences = [ENGLISH[i] for i in (0, 1, 4, 11)]  # each of them fits
    text = " ".join(sentences)
    assert translator.translate(text, beam=1, by_sentence=by_sentence) == text
    assert seen[-4:] == sentences if not whole else seen[-1] == text


def test_pieces_are_joined_as_the_language_wants():
    zh, en = ([side[i] for i in (0, 1, 4, 11)] for side in (CHINESE, ENGLISH))
    assert copyist("zh").translate("".join(zh), beam=1) == "".join(zh)
    assert copyist("en").translate("".join(zh), beam=1) == " ".join(zh)
    assert copyist("zh").translate(" ".join(en), beam=1) == "".join(en)


@given(st.text("ab1我喜,，.。 ", max_size=200))
def test_for_every_text_nothing_is_dropped(text):
    translation = copyist("zh").translate(text, beam=1, repetition_guard=False)
    assert "".join(translation.split()) == "".join(text.split())


def test_a_very_long_text_without_any_place_to_cut():
    text = "猫" * 3000
    assert copyist("zh").translate(text, beam=1) == text


def test_no_piece_is_longer_than_the_model_was_trained_on_and_than_its_positions_reach():
    model = TransformerConfig(
        source_vocab=pieces().vocab_size, target_vocab=pieces().vocab_size, d_model=16, n_heads=2,
        position={"kind": "learned", "max_length": 12},
    )  # fmt: skip
    translator = Translator(config_of(pieces(), max_tokens=100, model=model), model.build(), pieces(), pieces())
    written = translator.hypotheses(" ".join(ENGLISH), beam=1)
    assert len(written) == 1  # a longer source or target would be an error of the position encoding


def test_a_source_ends_with_eos_if_the_model_was_trained_so():
    assert copyist(source_eos=False).ids("猫") == pieces().encode("猫")
    assert copyist(source_eos=True).ids("猫") == [*pieces().encode("猫"), EOS]


def test_a_translation_is_at_most_twice_the_source_and_ten_tokens():
    """One who never ends, given one character and four, each with its `<eos>`: a text's own length counts."""
    tokenizer = train_characters(CHINESE, vocab_size=60)
    endless = Constant([0, 0, 0, 0, *[1] * (tokenizer.vocab_size - 4)])
    translator = Translator(config_of(tokenizer), endless, tokenizer, tokenizer)
    written = translator.translate(["我", "我喜欢你"], beam=1, repetition_guard=False)
    assert [len(text) for text in written] == [2 * 2 + 10, 2 * 5 + 10]


def test_what_is_cut_at_the_longest_length_says_so():
    whole, cut = copyist().hypotheses(["猫", "猫睡在旧椅子上。"], beam=1, max_length=4)
    assert whole[0].finished
    assert not cut[0].finished


# --- any text ----------------------------------------------------------------------------------------------------


@given(st.text() | st.sampled_from(HARD) | st.text("😀é\0\u200d\ufeff\u2028我 a.\n"))
def test_for_every_text_there_is_a_translation(text):
    for translator in (copyist(), babbler()):
        translation = translator.translate(text, beam=2, max_length=5)
        assert bool(translation) <= bool(text.strip())


@pytest.mark.parametrize(("text", "place"), [("\ud800", 1), ("我\udfff喜欢", 2), ("a" * 9999 + "\udc80", 10000)])
def test_half_of_a_surrogate_pair_is_named(text, place):
    with pytest.raises(ValueError, match=rf"text 2 holds half of a surrogate pair \('\\ud.*at character {place}\)"):
        copyist().translate(["好", text])


@pytest.mark.parametrize("wrong", [[None], [b"a"], [["a"]]])
def test_what_is_no_text_is_named(wrong):
    with pytest.raises(TypeError, match="text 1 is "):
        copyist().translate(wrong)


# --- the same alone and in company --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields", [{"beam": 1}, {"beam": 3, "n_best": 3}, {"temperature": 0.9, "top_k": 20, "seed": 5}]
)
@pytest.mark.parametrize("seed", range(2))
def test_for_every_model_a_text_is_translated_the_same_in_any_company(seed, fields):
    translator = babbler(seed)
    texts = [*ENGLISH[:6], " ".join(ENGLISH[6:10]), ENGLISH[0]]
    together = translator.hypotheses(texts, max_length=9, **fields)
    assert [found.text for found in together[0]] == [found.text for found in together[-1]]
    for text, expected in zip(texts, together, strict=True):
        [alone] = translator.hypotheses(text, max_length=9, **fields)
        assert [found.text for found in alone] == [found.text for found in expected]
        assert [found.score for found in alone] == pytest.approx([found.score for found in expected])


def test_several_are_sorted_and_distinct_and_the_first_is_the_translation():
    translator = babbler(1)
    texts = [*ENGLISH[:3], " ".join(ENGLISH[:5])]
    several = translator.hypotheses(texts, beam=6, n_best=6, max_length=9)
    assert [found[0].text for found in several] == translator.translate(texts, beam=6, max_length=9)
    assert max(map(len, several)) == 6
    for found in several:
        assert len({candidate.text for candidate in found}) == len(found)
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_guard_is_on_unless_it_is_turned_off():
    translator = babbler()
    guarded, free = (translator.translate(ENGLISH[:8], beam=1, repetition_guard=on) for on in (True, False))
    thrice = re.compile(f"([{HAN}])\\1\\1")
    assert any(map(thrice.search, free))
    assert not any(map(thrice.search, guarded))


def test_translating_leaves_no_gradient_and_costs_no_chance():
    translator = babbler()
    translator.model.train()
    translator = Translator(translator.config, translator.model, translator.source, translator.target)
    before = torch.get_rng_state()
    translator.translate(ENGLISH[:2], temperature=0.5, max_length=3)
    assert not translator.model.training
    assert torch.equal(torch.get_rng_state(), before)
    assert all(weight.grad is None for weight in translator.model.parameters())
