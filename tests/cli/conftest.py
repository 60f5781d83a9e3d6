"""A command run here and now, and a model that a command made."""

import io
import sys

import pytest
from tests.cli.calls import PAIRS, RECIPE, Result

from prosector.cli.main import main


@pytest.fixture
def prosector(capsys, monkeypatch):
    """Run a command line here and now; `stdin` is text or bytes."""

    def run(*arguments, stdin=None):
        if stdin is not None:
            data = stdin if isinstance(stdin, bytes) else stdin.encode()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Result(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def here(tmp_path_factory):
    """A folder with a table of sentence pairs and a recipe."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "pairs.tsv").write_text("".join(f"{en}\t{zh}\tours\n" for en, zh in PAIRS), "utf-8")
    (folder / "tiny.toml").write_text(RECIPE, "utf-8")
    return folder


@pytest.fixture(scope="session")
def model(here):
    """The folder of a model that `prosector train` made."""
    assert (
        main(["train", str(here / "tiny.toml"), "--data", str(here / "pairs.tsv"), "--out", str(here / "model")]) == 0
    )
    return here / "model"
