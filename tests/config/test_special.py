"""The ids that are no text: ours, and those of an imported model."""

import pytest

from prosector.config.special import SpecialIds
from prosector.config.transformer import TransformerConfig
from prosector.training.run import require_trainable


def test_ours_are_0_to_3_and_all_but_the_end_are_never_written():
    assert SpecialIds().unwritten == [0, 1, 2]
    assert SpecialIds().ends == [3]


def test_a_begin_that_is_the_end_too_is_written():
    """GPT-2's <|endoftext|> is both."""
    special = SpecialIds(pad=None, unk=None, sos=50256, eos=50256)
    assert (special.unwritten, special.ends) == ([], [50256])


def test_padding_that_is_the_begin_too_is_named_once():
    """Marian's."""
    assert SpecialIds(pad=9, unk=1, sos=9, eos=0, also_eos=(4,), never=(7, 1)).unwritten == [9, 1, 7]


def test_training_refuses_what_it_does_not_know():
    require_trainable(TransformerConfig())
    with pytest.raises(ValueError, match="training an imported model is not possible"):
        require_trainable(TransformerConfig(special={"pad": 5}))
    with pytest.raises(ValueError, match="output_bias is for imported models"):
        require_trainable(TransformerConfig(output_bias=True))
