"""The golden values: what reference implementations give."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def golden():
    """golden.json, whose "source" says where its numbers come from."""
    return json.loads(Path(__file__).with_name("golden.json").read_text("utf-8"))
