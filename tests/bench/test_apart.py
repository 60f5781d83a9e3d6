"""A contender in a process of its own does what it does here, and says why if it does not."""

import pytest
import torch

from prosector.bench import apart, contest

TINY = {"d_model": 64, "n_heads": 2, "d_ff": 128, "encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture
def order(monkeypatch):
    monkeypatch.setitem(contest.SIZES, "tiny", TINY)
    config = contest.config_of("tiny", dropout=0.1).model_dump_json()
    return apart.Order("prosector, sdpa", "float32", config, 4, torch.get_num_threads(), 0.0)


def test_its_loss_is_the_one_it_has_here(order):
    there, here = apart.ask(order, {}), apart.done(order)
    assert there.loss == pytest.approx(here.loss, abs=1e-5)
    assert there.weights == here.weights == "ours"
    assert there.rate > 0


def test_its_last_words_are_told(order):
    with pytest.raises(RuntimeError, match=r"^nobody, float32: its process ended: KeyError: 'nobody'$"):
        apart.ask(order._replace(who="nobody"), {})


def test_it_gets_the_environment(order, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("raise SystemExit('found in the environment')\n", "utf-8")
    with pytest.raises(RuntimeError, match=r"found in the environment$"):
        apart.ask(order, {"PYTHONPATH": str(tmp_path)})


def test_it_warms_up_before_it_is_timed(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("prosector.bench.rounds.time.perf_counter", lambda: float(next(clock)))
    done = []
    rate = apart.warmed(lambda: done.append(1) or 6.0, 1.0)
    assert len(done) == apart.WARM_UP + 2  # a turn of a second before, and one that counts
    assert rate == 3.0  # its clock is asked twice, and each time a second has passed
