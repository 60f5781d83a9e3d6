"""Evaluation of a translator on pairs."""

import json
import math

import pytest
from tests.decoding.tiny import Copyist, tiny
from tests.text.corpus import CHINESE, ENGLISH, PAIRS

from prosector.config.decoding import DecodingConfig
from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig
from prosector.data.corpus import Pair
from prosector.decoding import Translator
from prosector.evaluation.evaluate import evaluate
from prosector.text.characters import train_characters

TOKENIZER = train_characters([*CHINESE, *ENGLISH], vocab_size=400)
MODEL = TransformerConfig(source_vocab=TOKENIZER.vocab_size, target_vocab=TOKENIZER.vocab_size)
GREEDY = DecodingConfig(beam=1)


def translator(model, max_tokens=60):
    config = TranslatorFolder(source="zh", target="en", max_tokens=max_tokens, model=MODEL)
    return Translator(config, model, TOKENIZER, TOKENIZER)


class CopyingTransformer(Copyist):
    """With teacher forcing it is sure of copying too: log p = 0 for the source's tokens, -20 for others."""

    def forward(self, src, tgt):
        return self.encode(src)[:, : tgt.shape[1]]


def test_a_translator_that_copies_is_perfect_where_source_and_reference_are_the_same():
    pairs = [Pair(text, text) for text in ENGLISH[:8]]
    result = evaluate(translator(CopyingTransformer(TOKENIZER.vocab_size)), pairs, GREEDY)
    assert result.bleu == pytest.approx(100)
    assert result.chrf == pytest.approx(100)
    assert result.loss == pytest.approx(0, abs=1e-3)
    assert result.perplexity == pytest.approx(1, abs=1e-3)
    assert result.translations == ENGLISH[:8]
    assert result.n_tokens == sum(len(text) + 1 for text in ENGLISH[:8])
    assert result.tokens_per_second * result.seconds == pytest.approx(result.n_tokens - 8)
    assert (result.n_pairs, result.n_too_long) == (8, 0)


def test_a_random_model_is_as_unsure_as_its_loss_says():
    pairs = [Pair(chinese, english) for english, chinese in PAIRS[:4]]
    model = tiny(vocab=TOKENIZER.vocab_size, scale=1.0)
    result = evaluate(translator(model), pairs, GREEDY)
    assert result.perplexity == pytest.approx(math.exp(result.loss))
    assert result.perplexity > 20
    assert result.chrf < 30


def test_pairs_too_long_for_the_model_are_translated_but_not_in_the_loss():
    pairs = [Pair("猫", "cat"), Pair("猫" * 30, "cat"), Pair("猫", "cat " * 30)]
    result = evaluate(translator(tiny(vocab=TOKENIZER.vocab_size), max_tokens=20), pairs, GREEDY)
    assert (result.n_pairs, result.n_too_long) == (3, 2)
    assert len(result.translations) == 3
    assert result.n_tokens == 4


def test_figures_can_be_written_as_json():
    result = evaluate(translator(CopyingTransformer(TOKENIZER.vocab_size)), [Pair("猫", "猫")])
    assert json.loads(json.dumps(result._asdict()))["n_pairs"] == 1


def test_no_pairs_is_an_error():
    with pytest.raises(ValueError, match="no sentence pairs"):
        evaluate(translator(CopyingTransformer(TOKENIZER.vocab_size)), [])
