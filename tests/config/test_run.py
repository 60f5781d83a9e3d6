"""A preset is a config written down: every mistake in it is named by key, value and what is allowed."""

from pathlib import Path

import pytest

import prosector.config
from prosector.config.run import RunConfig, read_run

PRESETS = sorted((Path(prosector.config.__file__).parents[1] / "presets").glob("*.toml"))


@pytest.fixture
def preset(tmp_path):
    def write(text):
        path = tmp_path / "preset.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_every_shipped_preset_is_valid_and_explains_itself(path):
    run = read_run(path)
    assert run.description
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=" in line and line[:1].isalpha()]
    names = {line.split("=")[0].strip() for line in lines}
    explained = {line.split("=")[0].strip() for line in lines if "#" in line}
    assert len(explained) > len(names) / 2


def test_an_empty_preset_is_all_defaults(preset):
    assert read_run(preset("")) == RunConfig()


def test_swapping_a_part_is_changing_one_field(preset):
    path = preset("[model]\nd_model = 64\n")
    for kind in ("none", "rope", "alibi", "t5", "learned"):
        assert read_run(path, [f"model.position={kind}"]).model.position.kind == kind
    assert read_run(path, ["model.norm_placement=post"]).model.norm_placement == "post"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[training]\nstep = 5\n", "training.step is not a key"),
        ("[model]\nd_model = 0\n", "model.d_model.*greater than 0.*0"),
        (
            '[model]\nactivation = "tanh"\n',
            "model.activation.*'relu', 'gelu', .*'swiglu' or 'geglu'.*'tanh'",
        ),
        ("[model]\nd_model = 30\nn_heads = 4\n", "d_model=30 does not divide into n_heads=4"),
        ('[model]\ntie = "all"\nsource_vocab = 10\n', "one vocabulary for both sides, not 10 and 8000"),
        ('[data]\nsource = "en"\n', "source and target are both 'en'"),
        ('[data]\ntrain = [{ path = "a.tsv", columns = ["en", "de"] }]\n', "a.tsv: columns=.* has no zh"),
        ("[training]\nvalidate_every = 300\nsave_every = 200\n", "validate_every=300 is not a multiple"),
        ("[training]\nsteps = 100\nwarmup = 100\n", "warmup=100 leaves nothing of steps=100"),
        ("[training\n", "not a TOML file"),
        ("[training]\nlearning_rate = inf\n", "training.learning_rate.*finite number.*inf"),
        ('[model]\ntie = "all"\n', "one table of both languages' tokens; it needs tokenizer.joint=true"),
        ('[model]\nposition = { kind = "learned", max_length = 100 }\n', "100 positions, and data.max_tokens=128"),
        ('[model]\nkind = "lstm"\n', "model: unknown kind of translator; allowed are transformer, rnn, rnn-attention"),
        ('[model]\nkind = "rnn"\nlayers = 0\n', "model.layers: .*greater than 0"),
        ('[model]\nposition = { kind = "rope", base = "x" }\n', "model.position.base"),
    ],
)
def test_a_mistake_is_named(preset, text, said):
    with pytest.raises(ValueError, match=said) as error:
        read_run(preset(text))
    assert "\n" not in str(error.value)
    assert "preset.toml" in str(error.value)


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("training.steps", "write key=value"),
        ("training.steps.more=1", "steps"),
        ("training.speed=1", "training.speed is not a key"),
        ("training.steps=many", "training.steps.*'many'"),
    ],
)
def test_a_mistaken_assignment_is_named(preset, assignment, said):
    with pytest.raises(ValueError, match=said):
        read_run(preset("[training]\nsteps = 9\nwarmup = 1\n"), [assignment])


def test_an_assignment_is_read_as_toml_and_else_as_text(preset):
    run = read_run(preset(""), ["training.steps=2_000", "data.train=[{path='a.tsv'}]", "description=two words"])
    assert run.training.steps == 2000
    assert run.data.train[0].path == "a.tsv"
    assert run.description == "two words"


def test_a_config_cannot_be_changed_once_made(preset):
    with pytest.raises(ValueError, match="frozen"):
        read_run(preset("")).training.steps = 3
