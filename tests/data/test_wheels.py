"""A file out of a wheel: fetched once, used only if it is the right one."""

import zipfile

import pytest

from prosector.data import wheels
from prosector.data.wheels import Member, digest_of, fetched


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A wheel that a stand-in for pip downloads, and how often it did."""
    calls = []

    def run(command, **options):
        calls.append(command)
        folder = command[command.index("--dest") + 1]
        with zipfile.ZipFile(f"{folder}/nothing-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr("nothing/data.txt", "four")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setenv("PROSECTOR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(wheels.subprocess, "run", run)
    return calls


def test_it_is_fetched_once_and_again_only_if_it_was_changed(served):
    member = Member("nothing==1.0", "nothing/data.txt", digest_of(b"four"))
    path = fetched(member)
    assert path.read_text() == "four"
    assert fetched(member) == path
    assert len(served) == 1
    assert served[0][-1] == "nothing==1.0"
    path.write_text("five")
    assert fetched(member).read_text() == "four"
    assert len(served) == 2


def test_another_file_is_not_used(served, tmp_path):
    with pytest.raises(ValueError, match=r"nothing/data\.txt of nothing==1\.0 is another file than expected"):
        fetched(Member("nothing==1.0", "nothing/data.txt", digest_of(b"five")))
    assert not list((tmp_path / "cache").rglob("*.txt"))


def test_without_a_connection_it_says_where_to_put_the_file(served, monkeypatch):
    monkeypatch.setattr(
        wheels.subprocess, "run", lambda *_, **__: type("Done", (), {"returncode": 1, "stderr": "no route\n"})
    )
    with pytest.raises(ConnectionError, match=r"nothing==1\.0 cannot be fetched \(no route\); put its file .* at .*"):
        fetched(Member("nothing==1.0", "nothing/data.txt", digest_of(b"four")))
