"""A font that has what shall be drawn: matplotlib's own for Latin letters, one of this machine's for all others."""

from __future__ import annotations

from pathlib import Path

LATIN = "DejaVu Sans"  # comes with matplotlib
OTHERS = ("NotoSansCJK", "NotoSansSC", "SourceHan", "PingFang", "msyh", "wqy", "simhei", "Heiti", "CJK")


def font_for(text: str) -> Path | None:
    """A font of this machine that has every character of a text; none if there is none."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    wanted = {ord(character) for character in text if not character.isspace()}
    files = sorted(
        font_manager.findSystemFonts(),
        key=lambda file: (
            next((place for place, name in enumerate(OTHERS) if name.lower() in file.lower()), len(OTHERS)),
            "regular" not in file.lower(),
            file,
        ),
    )
    for file in files:
        try:
            if wanted <= set(FT2Font(file).get_charmap()):
                return Path(file)
        except (RuntimeError, OSError):  # a font that FreeType cannot read
            continue
    return None


def families_for(text: str) -> list[str]:
    """The names of the fonts that a text takes, the first one that has a character draws it.

    Raises:
        ValueError: no font has them all.
    """
    from matplotlib.font_manager import findfont
    from matplotlib.ft2font import FT2Font

    latin = set(FT2Font(findfont(LATIN)).get_charmap())
    lacking = "".join(dict.fromkeys(c for c in text if not c.isspace() and ord(c) not in latin))
    if not lacking:
        return [LATIN]
    file = font_for(lacking)
    if file is None:
        raise ValueError(
            f"no font here has {lacking[:12]!r}, so it cannot be drawn; install one that does (Debian, Ubuntu: "
            "apt install fonts-noto-cjk)"
        )
    return [LATIN, family_of(file)]


def family_of(file: Path) -> str:
    """What matplotlib calls a font; of a collection, the face with mainland Chinese shapes."""
    from matplotlib.font_manager import fontManager

    if not any(entry.fname == str(file) for entry in fontManager.ttflist):
        fontManager.addfont(str(file))
    names = [entry.name for entry in fontManager.ttflist if entry.fname == str(file)]
    return min(names, key=lambda name: not name.endswith(" SC"))
