"""Memory that is kept: a step finds its pages where those before left them."""

import subprocess
import sys

import pytest

from prosector.training import memory

FAULTS = """
import resource, sys
import torch
from prosector.training.memory import keep_freed_memory

if sys.argv[1] == "keep":
    assert keep_freed_memory()

def step():
    return sum(x[0] for x in [torch.ones(5_000_000) for _ in range(10)])

for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(memory.platform.libc_ver()[0] != "glibc", reason="the allocator is another one")
def test_pages_that_were_freed_are_not_missed_again():
    missed = {}
    for how in ("leave", "keep"):
        command = [sys.executable, "-c", FAULTS, how]
        missed[how] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert missed["keep"] < missed["leave"] / 5


def test_another_allocator_is_left_alone(monkeypatch):
    monkeypatch.setattr(memory.platform, "libc_ver", lambda: ("", ""))
    monkeypatch.setattr(memory.ctypes, "CDLL", None)
    assert not memory.keep_freed_memory()
