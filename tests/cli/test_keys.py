"""`train --keys`: a recipe that says everything is the recipe."""

import tomllib

import pytest

from prosector.cli.train import presets
from prosector.config.run import read_run, run_from


@pytest.mark.parametrize("path", presets(), ids=lambda path: path.stem)
def test_a_preset_written_out_is_the_preset(prosector, path):
    result = prosector("train", path.stem, "--keys")
    assert result.code == 0
    assert run_from(tomllib.loads(result.out), (), "it") == read_run(path)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model.kind": "rnn", "data.source": "en", "data.target": "zh"},
        {"model.kind": "rnn-attention", "model.cell": "gru"},
        {"model.position": '{ kind = "yarn", factor = 3.0 }', "model.n_kv_heads": "2", "training.patience": "3"},
    ],
)
def test_every_key_is_there_with_its_value_and_a_meaning(prosector, settings):
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    text = prosector("train", "--keys", *options).out
    run = run_from(tomllib.loads(text), (), "it")
    assert run == run_from({}, [f"{key}={value}" for key, value in settings.items()], "it")
    lines = text.splitlines()
    for table in (run.model, run.tokenizer, run.data, run.training):
        for name, field in type(table).model_fields.items():
            places = [i for i, line in enumerate(lines) if line.lstrip("# ").startswith(f"{name} =")]
            assert any(field.description in lines[i] or field.description in lines[i - 1] for i in places), name
    assert "(none, binary, one-hot, sinusoidal, learned, rope, yarn, alibi, t5, a class of your own)" in text or (
        run.model.kind != "transformer"
    )


def test_a_mistake_is_named(prosector):
    assert "training.stepz is not a key" in prosector("train", "--keys", "--set", "training.stepz=3").err
    assert "there is no preset 'nobody'" in prosector("train", "nobody", "--keys").err
