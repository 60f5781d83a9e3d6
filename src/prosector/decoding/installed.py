"""Models by name: those that come with the package, each a folder in `prosector/pretrained`."""

from __future__ import annotations

from pathlib import Path

from prosector.text import script_of

PRETRAINED = Path(__file__).parents[1] / "pretrained"


def installed_models() -> dict[str, Path]:
    """The folders of the installed models by their names, in alphabetical order."""
    return {config.parent.name: config.parent for config in sorted(PRETRAINED.glob("*/config.json"))}


def find_model(name_or_folder: str | Path) -> Path:
    """The folder of an installed model, or the folder itself.

    An installed name comes first: write ./zh-en for a folder of one's own that is called so.

    Raises:
        FileNotFoundError: there is no such model; the installed ones are named.
    """
    installed = installed_models()
    if str(name_or_folder) in installed:
        return installed[str(name_or_folder)]
    folder = Path(name_or_folder).expanduser()
    if str(name_or_folder) and folder.is_dir():
        return folder
    if str(name_or_folder).startswith("hf:"):
        theirs = str(name_or_folder).removeprefix("hf:")
        raise FileNotFoundError(f"a command takes a folder of ours: prosector import {theirs} --out DIR makes one")
    names = ", ".join(installed) or "none"
    raise FileNotFoundError(
        f"there is no model {str(name_or_folder)!r}: give the name of an installed one ({names}), or a model's folder"
    )


def installed_for(text: str) -> Path:
    """The folder of the installed translator that reads the text's script: zh-en for Chinese, en-zh otherwise.

    Raises:
        FileNotFoundError: it is not installed.
    """
    return find_model({"zh": "zh-en", "en": "en-zh"}[script_of(text)])
