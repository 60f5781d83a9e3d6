"""Every character has a font, or it is said that none has it."""

import pytest

from prosector.explain import fonts
from prosector.explain.fonts import LATIN, families_for, font_for

PRIVATE = "\ue123\ue124\U000f1234"  # characters of no font


def test_a_font_is_taken_only_if_it_has_every_character():
    assert font_for("abc") is not None
    assert font_for(PRIVATE) is None


def test_latin_letters_take_matplotlibs_own_font():
    assert families_for("I like café <eos> …") == [LATIN]


def test_what_it_lacks_is_drawn_by_one_that_has_it():
    if font_for("喜欢") is None:
        pytest.skip("no font here has Chinese")
    first, second = families_for("I 喜欢 you")
    assert first == LATIN
    assert second != LATIN


def test_of_a_collection_the_chinese_face_is_taken(tmp_path, monkeypatch):
    from matplotlib.font_manager import FontEntry, fontManager

    file = str(tmp_path / "all.ttc")
    faces = [FontEntry(fname=file, name=f"All Sans {where}") for where in ("JP", "KR", "SC", "TC")]
    monkeypatch.setattr(fontManager, "ttflist", [*fontManager.ttflist, *faces])
    monkeypatch.setattr(fonts, "font_for", lambda text: tmp_path / "all.ttc")
    assert families_for("骨") == [LATIN, "All Sans SC"]


def test_without_any_font_it_is_said_what_to_do():
    with pytest.raises(ValueError, match=r"no font here has .*; install one"):
        families_for("a" + PRIVATE)
