"""From a config and sentence pairs to two tokenizers, and from a folder back to them."""

import pytest
from pydantic import ValidationError
from tests.text.corpus import CHINESE, ENGLISH, HARD

from prosector.config.text import TokenizerConfig
from prosector.text import load_tokenizers, save_tokenizers, train_tokenizers

KINDS = ["unigram", "bpe", "words", "characters"]
every_kind = pytest.mark.parametrize("kind", KINDS)


def train(**fields):
    return train_tokenizers(TokenizerConfig(vocab_size=700, **fields), CHINESE, ENGLISH, "zh", "en")


@every_kind
def test_each_side_knows_its_language_and_comes_back_from_disk(kind, tmp_path):
    source, target = train(kind=kind)
    assert source.decode(source.encode("我喜欢深度学习。")) == "我喜欢深度学习。"
    assert target.decode(target.encode("I like deep learning.")) == "I like deep learning."

    save_tokenizers(tmp_path, source, target)
    for written, read in zip((source, target), load_tokenizers(tmp_path), strict=True):
        assert type(read) is type(written)
        assert read.encode_batch(HARD) == written.encode_batch(HARD)


@every_kind
def test_a_joint_tokenizer_is_one_object_and_one_file(kind, tmp_path):
    source, target = train(kind=kind, joint=True)
    assert source is target
    for text in ("我喜欢深度学习。", "I like deep learning."):
        assert source.decode(source.encode(text)) == text

    (path,) = save_tokenizers(tmp_path, source, target)
    assert path.name in ("joint.spm", "joint.vocab.json")
    source, target = load_tokenizers(tmp_path)
    assert source is target


@every_kind
def test_training_again_gives_the_same_files(kind):
    assert [t.to_bytes() for t in train(kind=kind)] == [t.to_bytes() for t in train(kind=kind)]


def test_own_words_reach_the_tokenizers():
    source, _ = train(kind="words", own_words=["深度学习"])
    assert source.pieces("我喜欢深度学习。") == ["我", "喜欢", "深度学习", "。"]


def test_a_side_without_text_is_named():
    with pytest.raises(ValueError, match="target tokenizer: there is no text"):
        train_tokenizers(TokenizerConfig(), CHINESE, [""], "zh", "en")


@pytest.mark.parametrize(
    "files, fault",
    [
        ([], "holds no tokenizer"),
        (["source.spm"], "for one side only"),
        (["target.vocab.json"], "for one side only"),
        (["joint.spm", "target.spm"], "a joint tokenizer and another one"),
        (["source.spm", "source.vocab.json"], "source.spm and source.vocab.json"),
        (["joint.spm"], "joint.spm: not a SentencePiece model"),
        (["joint.vocab.json"], "joint.vocab.json is no vocabulary"),
    ],
)
def test_a_folder_that_is_not_whole_is_told(files, fault, tmp_path):
    for name in files:
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(ValueError, match=fault):
        load_tokenizers(tmp_path)


@pytest.mark.parametrize(
    "fields, fault",
    [
        ({"kind": "wordpiece"}, "'unigram', 'bpe', 'words' or 'characters'"),
        ({"vocab_size": 4}, "greater than or equal to 5"),
        ({"lowercase": True}, "Extra inputs"),
        ({"own_words": ["深度学习"]}, "own_words is for kind 'words'"),
        ({"min_count": 2}, "min_count is for words and characters"),
        ({"kind": "words", "coverage": 0.9}, "coverage is for unigram and bpe"),
        ({"kind": "words", "own_words": [" a"]}, "own_words.0"),
    ],
)
def test_a_config_says_what_is_impossible(fields, fault):
    with pytest.raises(ValidationError, match=fault):
        TokenizerConfig(**fields)


def test_every_field_is_described():
    assert all(field.description for field in TokenizerConfig.model_fields.values())
