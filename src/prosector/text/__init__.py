"""Text to ids and back: cutting it up, vocabularies, sentences, scripts.

`tokenizer.py` says what every tokenizer does; `pieces.py`, `words.py` and `characters.py` are the kinds.
"""

from prosector.text.build import load_tokenizers, save_tokenizers, train_tokenizers
from prosector.text.chinese import script_of, simplify
from prosector.text.sentences import split_sentences
from prosector.text.tokenizer import Tokenizer

__all__ = [
    "Tokenizer",
    "load_tokenizers",
    "save_tokenizers",
    "script_of",
    "simplify",
    "split_sentences",
    "train_tokenizers",
]
