"""Characters: every known character comes back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text.corpus import HARD

from prosector.text.characters import CharacterTokenizer, train_characters
from prosector.text.special import UNK


@given(st.text() | st.sampled_from(HARD))
def test_for_every_text_whose_characters_are_known_decoding_gives_it_back(text):
    characters = CharacterTokenizer(sorted(set(text)))
    assert characters.decode(characters.encode(text)) == text
    assert CharacterTokenizer.from_bytes(characters.to_bytes()).encode(text) == characters.encode(text)


def test_the_most_frequent_characters_get_an_id_and_the_others_are_unknown():
    characters = train_characters(["我我我们们学"], vocab_size=4 + 2)
    assert characters.encode("我们学") == [4, 5, UNK]
    assert characters.pieces("学我") == ["<unk>", "我"]


def test_a_text_is_needed():
    with pytest.raises(ValueError, match="no text"):
        train_characters([""], vocab_size=100)
