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
    if is_path(str(name_or_folder)):
        raise FileNotFoundError(f"there is no folder {name_or_folder}")
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
            f"there is no folder {name_or_folder} here, and no model of that name could be had from the Hub "
            f"({type(error).__name__}: {first})"
        ) from error


def is_path(name: str) -> bool:
    """Whether a name can only be meant as a folder: the Hub's are NAME or OWNER/NAME, and have no dot at the front.

    So is one whose beginning is a folder here.
    """
    parts = Path(name).parts
    is_on_hub = 0 < len(parts) <= 2 and not name.startswith((".", "/", "~")) and not name.endswith("/")
    return not is_on_hub or "\\" in name or (len(parts) == 2 and Path(parts[0]).is_dir())
