"""A model by its name on the Hugging Face Hub, fetched into the Hub's own cache; a folder needs no network."""

from __future__ import annotations

from pathlib import Path

# No Python, no pickles.
FILES = ["*.json", "*.safetensors", "*.spm"]


def folder_of(name_or_folder: str | Path) -> Path:
    """A folder, as it is, or that of a model that is fetched by its name.

    Raises:
        NotADirectoryError: it is a file.
        FileNotFoundError: it is neither a folder nor the name of a model that can be had.
        ImportError: a name is given, and huggingface_hub is not installed.
    """
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return folder
    if folder.is_file():
        raise NotADirectoryError(f"{name_or_folder} is a file; give the folder that holds the model")
    if folder.is_absolute() or len(folder.parts) > 2 or str(name_or_folder).startswith("."):  # no name on the Hub
        raise FileNotFoundError(f"there is no folder {name_or_folder}; give one, or a model's name on the Hub")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ImportError(
            f"{name_or_folder} is no folder, and to fetch a model by its name takes huggingface_hub: "
            "pip install 'prosector[hf]'"
        ) from error
    try:
        return Path(snapshot_download(str(name_or_folder), allow_patterns=FILES))
    except Exception as error:  # it has a dozen kinds of them, of three libraries
        first = str(error).strip().split("\n")[0]
        raise FileNotFoundError(
            f"{name_or_folder} is no folder, and no model of that name could be had ({type(error).__name__}: {first})"
        ) from error
