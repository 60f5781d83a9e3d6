"""What all verbs share: help, mistakes, faults, Ctrl-C, closed pipes, colours."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from tests.cli.calls import start

from prosector.cli import main as cli
from prosector.cli.main import VERBS


def test_help_comes_without_torch():
    code = (
        "import sys; from prosector.cli.main import main; code = main(['--help']); "
        "sys.exit(code or ('torch' in sys.modules) * 9)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert "prosector translate 我喜欢深度学习。" in run.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_has_examples(prosector, verb):
    result = prosector(verb, "--help")
    assert result.code == 0
    assert f"Examples:\n    prosector {verb}" in result.out
    assert result.err == ""


def test_without_a_verb_there_is_the_help(prosector):
    assert prosector() == prosector("--help")


def test_the_version_is_told(prosector):
    assert prosector("--version").out.startswith("prosector 0.")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["transalte"], "transalte"),
        (["translate", "--beem", "3"], "--beem"),
        (["translate", "--beam", "three", "你好"], "--beam"),
        (["translate", "--beam", "0", "你好"], "beam"),
        (["translate", "--beam", "2", "--n-best", "3", "你好"], "n_best=3"),
        (["translate", "--temperature", "0.5", "--beam", "2", "你好"], "beam=2"),
        (["translate", "--input", "nowhere.txt"], "nowhere.txt"),
        (["translate", "--input", "a.txt", "你好"], "a.txt"),
        (["translate", "你好", "-"], "-"),
        (["translate", "--model", "nobody", "你好"], "nobody"),
        (["evaluate", "--model", "nobody", "--data", "pairs.tsv"], "nobody"),
        (["evaluate", "--model", "nobody"], "--data"),
        (["train"], "recipe"),
        (["train", "nothing"], "nothing"),
        (["train", "nothing.toml"], "nothing.toml"),
        (["train", "demo", "--data", "nowhere.tsv"], "nowhere.tsv"),
        (["train", "demo", "--from", "nobody"], "nobody"),
        (["train", "demo", "--part", "nowhere.py"], "nowhere.py"),
        (["train", "--resume"], "--out"),
        (["train", "--resume", "--out", "nothing"], "nothing"),
        (["demo", "--seconds", "0"], "--seconds"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_that_names_it(prosector, tmp_path, monkeypatch, arguments, what):
    monkeypatch.chdir(tmp_path)
    result = prosector(*arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("prosector")
    assert result.err.count("\n") == 1
    assert what in result.err
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def verb(monkeypatch):
    """A verb `broken` that raises what one says."""

    def broken(error):
        app = typer.Typer(cls=cli.Verbs)
        app.callback()(lambda: None)

        @app.command("broken")
        def fail() -> None:
            raise error

        monkeypatch.setattr(cli, "app", app)
        return ["broken"]

    return broken


def test_a_fault_of_ours_says_how_to_see_where(prosector, verb, monkeypatch):
    monkeypatch.delenv("PROSECTOR_DEBUG", raising=False)
    result = prosector(*verb(KeyError("decoder.9")))
    assert result.code == 1
    assert result.err.count("\n") == 1
    assert "KeyError: 'decoder.9'" in result.err
    assert "PROSECTOR_DEBUG=1" in result.err

    monkeypatch.setenv("PROSECTOR_DEBUG", "1")
    assert "Traceback (most recent call last)" in prosector(*verb(KeyError("decoder.9"))).err


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("two\nlines"), 2, "two lines"),
        (PermissionError(13, "Permission denied", "/etc/model"), 2, "/etc/model: Permission denied"),
        (ImportError("simplifying needs OpenCC: pip install 'prosector[formats]'"), 2, "pip install"),
        (ImportError("no name", name="prosector.config.run"), 1, "fault"),
        (MemoryError("std::bad_alloc"), 1, "there is not enough memory; translate fewer or shorter lines"),
        (MemoryError("keep fewer addresses"), 1, "prosector: keep fewer addresses"),
        (OSError(28, "No space left on device"), 1, "No space left"),
        (KeyboardInterrupt(), 130, "stopped"),
        (BrokenPipeError(32, "Broken pipe"), 0, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_exit_codes(prosector, verb, error, code, line):
    result = prosector(*verb(error))
    assert result.code == code
    assert line in result.err
    assert "Traceback" not in result.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["models"], ["translate", "我喜欢猫。"]])
def test_output_that_has_no_room_is_one_line(model, arguments):
    named = ["--model", model] if arguments[0] == "translate" else []
    with open("/dev/full", "w") as full:
        command = start(*arguments, *named, stdout=full)
        _, err = command.communicate(timeout=60)
    assert command.returncode == 1
    said = "the output cannot be written to its end: No space left on device"
    assert err == f"prosector {arguments[0]}: {said}\n"


def test_a_closed_pipe_is_quiet(model):
    command = (
        f"yes 我喜欢猫。 | head -n 5000 | {sys.executable} -m prosector.cli.main translate --model {model} | head -n 2"
    )
    run = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert run.stdout.count("\n") == 2
    assert run.stderr == ""


def test_a_slow_pipe_is_answered_line_by_line_and_ctrl_c_is_one_line(model):
    with start("translate", "-", "--model", model, stdin=subprocess.PIPE) as process:
        for _ in range(2):
            process.stdin.write("我喜欢猫。\n")
            process.stdin.flush()
            assert process.stdout.readline().endswith("\n")  # though more may come
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == "prosector translate: stopped\n"
