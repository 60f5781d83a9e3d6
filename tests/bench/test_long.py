"""Long lines: a case is attention as the arithmetic says, and all that is measured is told."""

import json

import pytest
import torch

from prosector.attention.functional import attention
from prosector.bench import long
from prosector.cli.main import main


@pytest.mark.parametrize(("case", "reach"), [("none", 300), ("window of 256", 256)])
def test_a_case_computes_attention(case, reach):
    forward, (query, key, value) = long.attention_of(case, 300)
    at = torch.arange(300)
    back = at[:, None] - at
    expected = attention(query, key, value, (back >= 0) & (back < reach))
    torch.testing.assert_close(forward(), expected, rtol=1e-4, atol=1e-5)


def test_a_position_with_weights_gets_gradients():
    forward, leaves = long.attention_of("T5, both ways", 64)
    gradients = torch.autograd.grad(forward().square().sum(), leaves)
    assert len(leaves) == 4
    assert all(gradient.abs().sum() > 0 for gradient in gradients)


def test_memory_is_measured_in_a_process_of_its_own():
    found = long.memory_of("none", 256, 1)
    assert found["seconds"] > 0
    assert 0 <= found["bytes"] < 1e9


def test_the_command_tells_all_of_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(long, "CASES", {"none": long.CASES["none"]})
    monkeypatch.setattr(long, "POSITIONS", ("rope",))
    monkeypatch.setattr(long, "memory_of", lambda case, length, threads: {"bytes": 1e6 * length, "seconds": 2.0})
    file = tmp_path / "long.json"
    figure = tmp_path / "long.svg"
    given = ["--length", "128", "--threads", "1", "--json", str(file), "--figure", str(figure)]
    threads = torch.get_num_threads()
    try:
        assert main(["bench", "--long", *given]) == 0
    finally:
        torch.set_num_threads(threads)
    out = capsys.readouterr().out
    [record] = json.loads(file.read_text("utf-8"))["long"]
    assert record["times"].keys() == {long.PLAIN, "none"}
    assert "128 tokens, 1 thread(s): median (range)" in out
    assert "rope, without attention" in out
    assert out.split("growth")[1].split("\n")[1].split()[-3:] == ["128", "64", "2.00"]
    assert "</svg>" in figure.read_text("utf-8")
