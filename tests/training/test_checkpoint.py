"""Checkpoints: written whole, averaged exactly, and a log that holds each step once."""

import json

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from prosector.models.weights import replace_file
from prosector.training.checkpoint import Log, average, load_state, save_state


def test_the_average_is_the_mean_of_each_weight(tmp_path):
    paths = []
    for number in range(1, 4):
        paths.append(tmp_path / f"{number}.safetensors")
        save_file({"w": torch.full((2,), float(number)), "b": torch.tensor([10.0**number])}, paths[-1])
    mean = average(paths)
    assert mean["w"].tolist() == [2.0, 2.0]
    assert mean["b"].item() == pytest.approx(370)


def test_a_state_comes_back_as_it_was(tmp_path):
    weight = nn.Parameter(torch.randn(3))
    optimizer = torch.optim.AdamW([weight])
    weight.grad = torch.ones(3)
    optimizer.step()
    save_state(tmp_path / "state.pt", {"optimizer": optimizer.state_dict(), "random": torch.get_rng_state(), "n": 3})
    drawn = torch.rand(3)
    state = load_state(tmp_path / "state.pt")
    torch.set_rng_state(state["random"])
    assert torch.equal(torch.rand(3), drawn)
    assert state["n"] == 3
    assert torch.equal(state["optimizer"]["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"])


def test_a_write_that_fails_leaves_the_file_before(tmp_path):
    path = tmp_path / "state"
    path.write_text("before")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        replace_file(path, fail)
    assert path.read_text() == "before"


def test_a_log_is_cut_where_its_checkpoint_was(tmp_path):
    log = Log(tmp_path / "log.jsonl")
    for step in (10, 20, 30):
        log.write({"step": step, "say": "你好"})
    with log.path.open("a") as file:
        file.write('{"step": 4')  # the kill came here
    log.cut(20)
    assert [json.loads(line)["step"] for line in log.path.read_text().splitlines()] == [10, 20]
    log.write({"step": 21})
    assert log.path.read_text().count("\n") == 3


def test_a_written_file_has_the_permissions_that_any_new_file_has(tmp_path):
    (tmp_path / "plain").write_text("")
    replace_file(tmp_path / "weights", lambda path: save_file({"w": torch.ones(1)}, path))
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "plain").stat().st_mode
