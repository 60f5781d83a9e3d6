"""Pieces: nothing is unknown, nothing is lost, and the same text gives the same vocabulary."""

import collections
import copy
import hashlib
import math
import os
import pickle
import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.corpus import CHINESE, ENGLISH, HARD

from prosector.text.pieces import PieceTokenizer, train_pieces
from prosector.text.special import N_SPECIAL, SPECIAL_PIECES, UNK

MODELS = {
    f"{kind} {language}": train_pieces(sentences, vocab_size=700, kind=kind, language=language)
    for kind in ("unigram", "bpe")
    for language, sentences in (("en", ENGLISH), ("zh", CHINESE), (None, ENGLISH + CHINESE))
}
every_model = pytest.mark.parametrize("tokenizer", MODELS.values(), ids=MODELS.keys())

# Any text at all, and text made of what could go wrong: ▁ itself, what may stand in for it, NUL, bytes' names.
texts = st.text() | st.text(alphabet="▁ a我，。\0\n\U000f0000\U000f0001\ufdd0\ufeff\u2585😀") | st.sampled_from(HARD)


@every_model
@given(text=texts)
def test_for_every_text_decoding_gives_it_back_and_nothing_is_unknown(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert all(N_SPECIAL <= id < tokenizer.vocab_size for id in ids)


@every_model
def test_the_first_four_ids_are_the_special_ones(tokenizer):
    assert tuple(map(tokenizer.piece, range(4))) == SPECIAL_PIECES
    assert tokenizer.decode([2, *tokenizer.encode("好 a"), UNK, 3, 0, 0]) == "好 a"


def test_chinese_begins_without_a_lone_space_and_keeps_its_punctuation():
    pieces = MODELS["unigram zh"].pieces("他说：「好！」（真的吗？）")
    assert pieces[0].startswith("他")
    assert {"：", "「", "！", "」", "（", "？", "）"} <= set(pieces)


def test_an_english_word_is_the_same_piece_at_the_start_and_within():
    tokenizer = MODELS["bpe en"]
    assert tokenizer.pieces("the")[0] == "▁the"
    assert tokenizer.encode("the the") == 2 * tokenizer.encode("the")


def test_what_the_vocabulary_cannot_spell_falls_into_its_bytes():
    assert MODELS["unigram zh"].pieces("龘") == ["<0xE9>", "<0xBE>", "<0x98>"]  # "龘".encode()


@every_model
def test_what_people_type_is_never_spelled_in_bytes(tokenizer):
    """The small corpora hold few digits and no { at all."""
    assert not any(piece.startswith("<0x") for piece in tokenizer.pieces("0123456789 {x} [y] z@q"))


def test_digits_stay_single():
    assert MODELS["bpe en"].pieces("2019") == ["▁", "2", "0", "1", "9"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_the_same_sentences_give_the_same_bytes_in_another_process_too(kind):
    code = f"""
import hashlib
from prosector.text.pieces import train_pieces
from tests.text.corpus import CHINESE, ENGLISH
print(hashlib.sha256(train_pieces(ENGLISH + CHINESE, vocab_size=700, kind={kind!r}).to_bytes()).hexdigest())
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([os.getcwd(), *sys.path]), "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True).stdout

    assert hashlib.sha256(MODELS[f"{kind} None"].to_bytes()).hexdigest() == other.strip()


def test_training_and_encoding_print_nothing(capfd):
    train_pieces(ENGLISH, vocab_size=700, language="en").encode("quiet")
    assert capfd.readouterr() == ("", "")


@every_model
@given(batch=st.lists(texts, max_size=5))
def test_for_every_batch_it_is_its_texts_one_by_one(tokenizer, batch):
    assert tokenizer.encode_batch(iter(batch)) == [tokenizer.encode(text) for text in batch]


@every_model
def test_a_copy_in_a_file_in_memory_and_in_a_worker_encodes_alike(tokenizer, tmp_path):
    path = tokenizer.save(tmp_path, "source")
    assert path.name == "source.spm"
    for other in (PieceTokenizer.load(path), copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        assert other.encode_batch(HARD) == tokenizer.encode_batch(HARD)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize("text", ["a", "我", "ab ab", "12", " "])
def test_one_word_is_corpus_enough_and_gives_a_smaller_vocabulary(kind, text):
    for language in ("zh", "en", None):
        tokenizer = train_pieces([text], vocab_size=5000, kind=kind, language=language)
        assert 4 + 256 < tokenizer.vocab_size < 5000
        assert tokenizer.decode(tokenizer.encode("a 我▁b")) == "a 我▁b"


@given(st.lists(texts, min_size=1, max_size=3), st.sampled_from(["unigram", "bpe"]), st.sampled_from(["zh", "en"]))
def test_for_every_training_text_what_was_learned_spells_it(sentences, kind, language):
    try:
        tokenizer = train_pieces(sentences, vocab_size=2000, kind=kind, language=language)
    except ValueError:
        assert not "".join(sentences).strip("\t\n\r\0▅▁")
    else:
        assert [tokenizer.decode(ids) for ids in tokenizer.encode_batch(sentences)] == sentences


def test_sentences_with_tabs_and_blocks_teach_too():
    """SentencePiece itself passes over a sentence with a tab or a ▅."""
    tokenizer = train_pieces(["mountain\tmountain▅mountain"] * 5, vocab_size=700, kind="bpe", language="en")
    assert tokenizer.pieces("mountain") == ["▁mountain"]


@given(text=texts, alpha=st.floats(0, 2), seed=st.integers(0, 99))
def test_for_every_sample_it_spells_the_text_and_the_seed_alone_decides(text, alpha, seed):
    tokenizer = MODELS["unigram None"]
    ids = tokenizer.sample(text, alpha, random.Random(seed))
    assert tokenizer.decode(ids) == text
    assert tokenizer.sample(text, alpha, random.Random(seed)) == ids


def test_samples_follow_the_probabilities_of_the_segmentations():
    """Of the two likeliest ways to cut a word, P(1) / P(2) = exp(alpha · (score 1 - score 2))."""
    tokenizer, alpha, rng = MODELS["unigram en"], 0.3, random.Random(0)
    score = tokenizer._processor.get_score
    first, second = tokenizer._processor.nbest_encode("garden", nbest_size=2)
    odds = math.exp(alpha * (sum(map(score, first)) - sum(map(score, second))))

    drawn = collections.Counter(tuple(tokenizer.sample("garden", alpha, rng, n_best=2)) for _ in range(4000))
    assert set(drawn) == {tuple(first), tuple(second)}
    assert drawn[tuple(first)] / 4000 == pytest.approx(odds / (1 + odds), abs=0.03)
    assert tokenizer.sample("garden", 1000.0, rng) == tokenizer.encode("garden")


def test_rare_characters_are_spelled_in_bytes():
    text = ["人" * 96 + "山" * 3 + "海"]
    tokenizer = train_pieces(text, vocab_size=700, language="zh", coverage=0.97)
    assert ("人" in tokenizer, "山" in tokenizer, "海" in tokenizer) == (True, True, False)
    assert tokenizer.decode(tokenizer.encode("人山人海")) == "人山人海"


def test_mistakes_are_told():
    with pytest.raises(ValueError, match="no text"):
        train_pieces(["", "\n"], vocab_size=700)
    with pytest.raises(ValueError, match=r"vocab_size 270 is too small.* are 3\d\d; give more"):
        train_pieces(ENGLISH, vocab_size=270, language="en")
    with pytest.raises(ValueError, match="surrogate"):
        MODELS["bpe en"].encode("\ud83d")
    with pytest.raises(ValueError, match="surrogate"):
        train_pieces(["\ud83d"], vocab_size=700)
    with pytest.raises(ValueError, match="id 700 is outside this tokenizer's vocabulary of 700"):
        MODELS["bpe en"].decode([700])
    with pytest.raises(ValueError, match="id -1 is outside"):
        MODELS["bpe en"].piece(-1)
    with pytest.raises(ValueError, match="BPE gives a segmentation no probability"):
        MODELS["bpe en"].sample("text", 0.1, random.Random(0))
    for damaged in (b"", b"no model"):
        with pytest.raises(ValueError, match="not a SentencePiece model"):
            PieceTokenizer(damaged)
