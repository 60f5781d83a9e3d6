"""`prosector translate`: one line out for each line in."""

import os
import stat
import sys
import time

import pytest

from prosector.cli import translate as module
from prosector.cli.lines import whole_file
from prosector.decoding import installed

LINES = ["我喜欢猫。", "", "他们看见鸟。", "   ", "你喜欢狗。"]


@pytest.fixture
def translate(prosector, model):
    """Translate with the tiny model."""
    return lambda *arguments, **options: prosector("translate", "--model", model, *arguments, **options)


@pytest.fixture
def expected(translate):
    """Each line's translation, one call each."""
    return [translate(line).out.removesuffix("\n") for line in LINES]


def test_lines_stay_in_order_blank_ones_too(translate, expected, tmp_path):
    """Whether they are arguments, a pipe, a dash or a file."""
    text = "\n".join(LINES)
    (tmp_path / "in.txt").write_text(text + "\n", "utf-8")
    assert [bool(line) for line in expected] == [True, False, True, False, True]
    whole = "".join(f"{line}\n" for line in expected)
    assert translate(*LINES).out == whole
    assert translate(text).out == whole
    assert translate(stdin=text + "\n").out == whole
    assert translate("-", stdin=text).out == whole  # the last line without an end
    assert translate(stdin=b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()).out == whole
    assert translate("--input", tmp_path / "in.txt").out == whole
    assert translate("--input", tmp_path / "in.txt", "--output", tmp_path / "out.txt").out == ""
    assert (tmp_path / "out.txt").read_text("utf-8") == whole


def test_more_lines_than_a_chunk_stay_in_order(translate, expected):
    lines = translate(stdin="\n".join(LINES * 70)).out.splitlines()
    assert lines == expected * 70


def test_nothing_in_nothing_out(translate):
    assert translate(stdin="") == (0, "", "")
    assert translate("") == (0, "\n", "")


def test_without_text_a_terminal_is_not_waited_for(translate, monkeypatch):
    monkeypatch.setattr(sys, "stdin", open(os.devnull, encoding="utf-8"))  # noqa: SIM115
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    result = translate()
    assert result.code == 2
    assert "nothing to translate" in result.err
    sys.stdin.close()


def test_scores_and_several_translations(translate, expected):
    [score, text] = translate("--scores", LINES[0]).out.rstrip("\n").split("\t")
    assert float(score) < 0
    assert text == expected[0]
    rows = [line.split("\t") for line in translate("--n-best", 3, "--scores", *LINES[:3]).out.splitlines()]
    assert {row[0] for row in rows} == {"1", "2", "3"}
    assert [row[2] for row in rows if row[0] == "2"] == [""]
    of_the_first = [float(row[1]) for row in rows if row[0] == "1"]
    assert of_the_first == sorted(of_the_first, reverse=True)
    assert len(of_the_first) == 3


def test_sampling_depends_on_the_seed(translate):
    drawn = [translate("--temperature", 3, "--seed", seed, LINES[0]).out for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_traditional_characters_are_simplified_on_request(translate):
    pytest.importorskip("opencc")
    simplified = translate("--scores", "--simplify", "我喜歡貓。").out
    assert simplified == translate("--scores", "我喜欢猫。").out
    assert simplified != translate("--scores", "我喜歡貓。").out  # other characters, another score


@pytest.mark.parametrize("how", ["args", "input"])
def test_a_line_that_is_no_text_is_named(translate, tmp_path, how):
    broken = "你好。\n".encode() + b"\xff\n"
    (tmp_path / "in.txt").write_bytes(broken)
    result = translate(stdin=broken) if how == "args" else translate("--input", tmp_path / "in.txt")
    assert result.code == 2
    assert "line 2: not UTF-8" in result.err


def test_the_name_of_a_file_is_a_text_and_a_hint_is_given(translate, tmp_path):
    (tmp_path / "my book.txt").write_text("我喜欢猫。", "utf-8")
    result = translate(tmp_path / "my book.txt")
    assert result.code == 0
    assert f"--input '{tmp_path / 'my book.txt'}'" in result.err
    assert translate("我喜欢猫。").err == ""


def test_an_output_file_is_written_whole_or_not_at_all(translate, tmp_path):
    """What was there stays until all is there."""
    out, given = tmp_path / "out.txt", tmp_path / "in.txt"
    out.write_text("precious\n", "utf-8")
    out.chmod(0o640)
    given.write_bytes("我喜欢猫。\n".encode() * 40 + b"\xff\n")
    assert translate("--input", given, "--output", out).code == 2
    assert out.read_text("utf-8") == "precious\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "out.txt"]

    (tmp_path / "link.txt").symlink_to(out)
    assert translate("--output", tmp_path / "link.txt", *LINES[:1]).code == 0
    assert out.read_text("utf-8") != "precious\n"
    assert (tmp_path / "link.txt").is_symlink()
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_ctrl_c_leaves_no_half_file(tmp_path):
    def write_half():
        with whole_file(tmp_path / "out.txt") as file:
            file.write("half of")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_file_can_be_its_own_output(translate, expected, tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(LINES), "utf-8")
    assert translate("--input", tmp_path / "a.txt", "--output", tmp_path / "a.txt").code == 0
    assert (tmp_path / "a.txt").read_text("utf-8").splitlines() == expected


@pytest.mark.parametrize(("place", "what"), [("nowhere/out.txt", "no folder"), (".", "is a folder")])
def test_an_output_that_cannot_be_is_named_before_any_work(prosector, tmp_path, place, what):
    result = prosector("translate", "--model", "nobody", "--output", tmp_path / place, "你好")
    assert result.code == 2
    assert what in result.err


def test_devices_are_written_as_they_are(translate):
    assert translate("--output", "/dev/null", LINES[0]) == (0, "", "")


@pytest.fixture
def shipped(model, tmp_path, monkeypatch):
    """As if the tiny model were the shipped zh-en, and there were no en-zh."""
    (tmp_path / "zh-en").symlink_to(model)
    monkeypatch.setattr(installed, "PRETRAINED", tmp_path)


@pytest.mark.usefixtures("shipped")
def test_without_a_model_the_script_decides(prosector, expected):
    """Each argument for itself; a pipe's first lines for all of it."""
    assert prosector("translate", *LINES).out.splitlines() == expected
    assert "en-zh" in prosector("translate", LINES[0], "I like cats.").err
    assert prosector("translate", stdin="\n" + f"{LINES[0]}\n" * 10 + "CPU\n" * 30).out.splitlines()[1] == expected[0]
    assert prosector("translate", "", "  ").out == "\n\n"


def test_progress_is_told_after_two_seconds(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 3.0, 4.0, 14.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    progress = module.Progress(sys.stderr, quiet=False)
    for done in (10, 30, 40, 140):
        progress.tell(done)
    assert capsys.readouterr().err == "30 lines translated, 10.0 a second\n140 lines translated, 10.0 a second\n"


def test_the_native_core_translates(prosector):
    code, out, _ = prosector("translate", "--engine", "native", "我喜欢深度学习。", "How are you?")
    if code == 2:
        pytest.skip("no compiler has built the native core")
    assert out.splitlines()[0] == "I like deep learning."
    assert len(out.splitlines()) == 2
