"""The native core finds the same on another machine: 64-bit ARM, played by qemu, where compiler and qemu are."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from prosector.config.folder import TranslatorFolder
from prosector.config.transformer import TransformerConfig
from prosector.decoding import native
from prosector.decoding.folder import write_model
from prosector.text.characters import CharacterTokenizer

NATIVE = Path(__file__).parents[2] / "native"
MISSING = [tool for tool in ("cmake", "g++", "aarch64-linux-gnu-g++", "qemu-aarch64") if not shutil.which(tool)]
V = 60


def tiny_model(folder):
    """Turned positions, grouped queries, gated layers, heads whose width fits into no vector, and words that differ."""
    torch.manual_seed(0)
    sizes = {"d_model": 36, "n_heads": 6, "n_kv_heads": 2, "d_ff": 50, "encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(
        source_vocab=V, target_vocab=V, position="rope", norm="rms", activation="swiglu", bias=False, **sizes
    )
    model = config.build().eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight), alpha=0.2)
    characters = CharacterTokenizer([chr(code) for code in range(0x4E00, 0x4E00 + V - 4)])
    write_model(
        folder, TranslatorFolder(source="zh", target="en", max_tokens=20, model=config), model, (characters,) * 2, ""
    )


@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=f"there is no {', '.join(MISSING)}")
@pytest.mark.skipif(native.core() is None, reason="no compiler has built the native core")
def test_64_bit_arm_finds_the_same(tmp_path):
    tiny_model(tmp_path / "model")
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 15, (12,), generator=draw).tolist()
    lines = [
        "".join(chr(0x4E00 + int(n)) for n in torch.randint(V - 4, (length,), generator=draw)) for length in lengths
    ]
    (tmp_path / "lines.txt").write_text("\n".join(lines), "utf-8")
    done = subprocess.run(
        ["bash", NATIVE / "arm64.sh", tmp_path / "lines.txt", "12", tmp_path / "model"],
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^this machine and arm64, portable: \d\d hypotheses, the same words", done.stdout, re.M)


def test_what_differs_is_told(tmp_path):
    """The comparison sees another word, another log p, and a hypothesis that is missing."""
    line = "portable\tgreedy\t{}\t1\t{}\t-0.5\t 7 8"
    one = [line.format(0, -1.0), line.format(1, -1.0)]
    others = {
        "the same words": one,
        "differ in 1 of 2": [line.format(0, -1.0), line.format(1, -1.00001)],
        "differ in 1": [one[0], one[1].replace(" 8", " 9")],
        "2 hypotheses and 1": one[:1],
    }
    (tmp_path / "one").write_text("\n".join(one))
    for says, other in others.items():
        (tmp_path / "other").write_text("\n".join(other))
        command = [sys.executable, NATIVE / "check/same.py", tmp_path / "one", tmp_path / "other", "both"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert says in done.stdout
        assert done.returncode == (other is not one)
