"""What this machine can do at most: matrix products, and memory. And what it is, in words."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from prosector.bench.rounds import Rate, Work, race

SIDES = (512, 512, 2048)  # of the matrices: rows, inputs, outputs
MEBIBYTES = 256  # of memory that is read and written: more than any cache
PEERS = ("torch", "ctranslate2", "transformers", "x-transformers", "prosector-native", "sentencepiece", "tokenizers")
# What changes how fast a program is, if it is set: threads, and what the allocator gives back.
ENVIRONMENT = ("GLIBC_TUNABLES", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_WAIT_POLICY", "MALLOC_ARENA_MAX")


def described() -> dict[str, Any]:
    """The processor, its cores, the versions of all that takes part, what is set in the environment."""
    versions = {}
    for name in PEERS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": versions,
        "environment": {name: os.environ[name] for name in ENVIRONMENT if name in os.environ},
    }


def processor() -> str:
    """Its name, its family and the instructions that matter here."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    found = {key: re.search(rf"^{key}\s*: (.+)$", lines, re.MULTILINE) for key in ("model name", "cpu family", "flags")}
    name, family, flags = (match[1] if match else "?" for match in found.values())
    known = [flag for flag in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8") if flag in flags.split()]
    return f"{name}, family {family} ({', '.join(known) or platform.machine()})"


def product(dtype: torch.dtype) -> Work:
    """GFLOP of a matrix product in this type."""
    rows, inputs, outputs = SIDES
    if dtype == torch.int8:
        a = torch.randint(-127, 127, (rows, inputs), dtype=dtype)
        b = torch.randint(-127, 127, (inputs, outputs), dtype=dtype)
    else:
        a, b = torch.randn(rows, inputs).to(dtype), torch.randn(inputs, outputs).to(dtype)
    multiply: Any = torch._int_mm if dtype == torch.int8 else torch.mm

    def work() -> float:
        multiply(a, b)
        return 2e-9 * rows * inputs * outputs

    return work


def copying() -> Work:
    """GB that are read and written."""
    source = torch.ones(MEBIBYTES << 18)
    target = torch.empty_like(source)

    def work() -> float:
        target.copy_(source)
        return 2e-9 * source.numel() * source.element_size()

    return work


def ceilings(seconds: float = 3.0) -> dict[str, Rate]:
    """GFLOP/s of matrix products, and GB/s of memory read and written, with the threads that PyTorch has now."""
    types = {"float32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}
    products = {f"{name}, GFLOP/s": product(dtype) for name, dtype in types.items()}
    return race({**products, "memory, GB/s": copying()}, seconds, at_least=0.05)
