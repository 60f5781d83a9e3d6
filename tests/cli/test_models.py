"""`prosector models`: what there is, and what there is not."""

from prosector.cli.main import VERBS
from prosector.cli.models import figures_in
from prosector.config.folder import FOLDERS
from prosector.decoding import installed


def test_the_nine_kinds_and_the_commands_that_use_them(prosector):
    rows = dict(line.split(maxsplit=1) for line in prosector("models", "--kinds").out.splitlines())
    assert list(rows) == [
        "transformer",
        "gpt",
        "bert",
        "vit",
        "conv-transformer",
        "rnn",
        "rnn-attention",
        "unet",
        "attention-unet",
    ]
    assert set(rows) == set(FOLDERS)
    for row in rows.values():
        assert row.split()[0] in VERBS


def test_installed_models_are_described(prosector, model, tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "PRETRAINED", tmp_path)
    assert "no models are installed" in prosector("models").out

    (tmp_path / "zh-en").symlink_to(model)
    lines = prosector("models").out.splitlines()
    assert lines[0].startswith(f"{'zh-en':<18}Chinese to English, transformer, ")
    assert "weights" in lines[0]
    assert "chrF" in lines[1]
    assert lines[2].split() == [str(tmp_path / "zh-en")]


def test_a_readme_without_figures_has_none(tmp_path):
    assert figures_in(tmp_path / "README.md") == ""
    (tmp_path / "README.md").write_text("# A model\n", "utf-8")
    assert figures_in(tmp_path / "README.md") == ""
