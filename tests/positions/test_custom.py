"""A position of the user's own, in a file of their own."""

import pytest
import torch
from pydantic import ValidationError

from prosector.config import position as config
from prosector.config.base import Config
from prosector.config.position import CustomPosition, PositionConfig, register_position
from prosector.positions import Position, load_parts

MINE = """
from __future__ import annotations

from dataclasses import dataclass

from prosector.positions import Position, SinusoidalPosition

SETTINGS = {"unhashable": []}

class Parity(Position):
    def __init__(self, d_model: int, n_heads: int, d_head: int, bidirectional: bool, size: float = 1.0):
        super().__init__()
        self.size = size

    def embed(self, x, positions):
        return x + self.size * (positions % 2)[..., None]

class Plain(Position):
    pass

Same = Parity

@dataclass
class Helper:
    size: float

class _Base(Position):
    pass
"""

SIZES = {"d_model": 4, "n_heads": 2, "d_head": 2, "bidirectional": False}


class Model(Config):
    position: PositionConfig


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """No test sees what another registered."""
    monkeypatch.setattr(config, "_registered", {})


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write_file


def test_a_class_in_a_file_is_used_by_its_name(write):
    """The file, its name in a config, and the model's embeddings: odd positions gain 0.5."""
    assert load_parts(write(MINE)) == ["Parity", "Plain"]
    model = Model.model_validate({"position": {"kind": "Parity", "options": {"size": 0.5}}})
    marked = model.position.build(**SIZES).embed(torch.zeros(1, 3, 1), torch.arange(3))
    assert marked.flatten().tolist() == [0, 0.5, 0]
    assert Model.model_validate_json(model.model_dump_json()) == model


def test_a_class_without_a_constructor_needs_none(write):
    load_parts(write(MINE))
    built = Model(position="Plain").position.build(**SIZES)
    assert isinstance(built, Position)
    assert type(built).__name__ == "Plain"


def test_before_its_file_is_loaded_the_name_is_unknown(write):
    """So a model's folder can name a class, but never bring it."""
    with pytest.raises(ValidationError, match=r"unknown position 'Parity'; .*--part FILE"):
        Model(position="Parity")
    load_parts(write(MINE))
    assert isinstance(Model(position="Parity").position, CustomPosition)
    for name in ("Party", ["Parity"]):
        with pytest.raises(ValidationError, match="alibi, t5, Parity, Plain"):
            Model(position={"kind": name})
    with pytest.raises(ValidationError, match="unknown position 'Party'"):
        CustomPosition(kind="Party")


def test_a_file_that_was_changed_is_loaded_anew(write):
    load_parts(write(MINE))
    load_parts(write(MINE.replace("% 2", "% 3")))  # as long as before, and within the same second
    marked = Model(position="Parity").position.build(**SIZES).embed(torch.zeros(1, 3, 1), torch.arange(3))
    assert marked.flatten().tolist() == [0, 1, 2]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nowhere\.py"):
        load_parts(tmp_path / "nowhere.py")


@pytest.mark.parametrize(
    "text, message",
    [
        ("from prosector.positions import Position, T5Position\n", "mine.py defines no position: it needs a class"),
        ("x = 1\n\nx / 0\n", r"mine\.py, line 3: ZeroDivisionError: division by zero"),
        ("def f(:\n", r"mine\.py: SyntaxError: .*line 1"),
        ("import not_a_module\n", r"mine\.py, line 1: ModuleNotFoundError: No module named 'not_a_module'"),
    ],
)
def test_a_file_that_cannot_serve_says_why(write, text, message):
    with pytest.raises(ValueError, match=message):
        load_parts(write(text))


def test_a_file_of_another_kind_is_named(write):
    with pytest.raises(ValueError, match=r"mine\.txt is not a Python file"):
        load_parts(write(MINE, "mine.txt"))


@pytest.mark.parametrize("taken", ["alibi", "RotaryPosition"])
def test_a_built_in_name_is_taken_and_then_nothing_is_registered(write, taken):
    with pytest.raises(ValueError, match=f"a position of yours is called {taken}, as a built-in one is"):
        load_parts(write(MINE + f"\nclass {taken}(Position):\n    pass\n"))
    with pytest.raises(ValidationError, match="unknown position 'Plain'"):
        Model(position="Plain")


def test_two_files_cannot_both_have_the_name(write):
    load_parts(write(MINE))
    with pytest.raises(ValueError, match=r"two positions are called Parity, in prosector_part_mine_\w+ and prosec"):
        load_parts(write(MINE, "other.py"))


def test_only_a_position_can_be_registered():
    with pytest.raises(ValueError, match="Linear is no position: it must derive from"):
        register_position(torch.nn.Linear)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("embed(self, x, p): return x[:, :1]", r"Wrong.embed returns \(1, 1, 4\); it must return \(1, 3, 4\)"),
        ("embed(self, x, p): pass", r"Wrong.embed returns NoneType; it must return \(1, 3, 4\)"),
        ("rotate(self, q, k, qp, kp): return q", r"returns \(1, 2, 1, 2\); it must return .*, \(1, 2, 3, 2\)"),
        (
            "bias(self, qp, kp): return (kp - qp) * 1.0",
            r"Wrong.bias returns \(3,\) for 1 query and 3 keys; .* \[1, 2 or",
        ),
    ],
)
def test_a_method_that_returns_another_shape_is_named(write, method, message):
    load_parts(write(f"from prosector.positions import Position\n\nclass Wrong(Position):\n    def {method}\n"))
    with pytest.raises(ValueError, match=message):
        Model(position="Wrong").position.build(**SIZES)


def test_a_fold_that_was_inherited_and_is_not_the_new_bias_is_an_error(write):
    mine = "class Steeper(AlibiPosition):\n    def __init__(self, d_model, n_heads, d_head, bidirectional):\n"
    mine += "        super().__init__(n_heads)\n    def bias(self, q, k): return 2 * super().bias(q, k)\n"
    load_parts(write(f"from prosector.positions import AlibiPosition\n\n{mine}"))
    with pytest.raises(ValueError, match=r"Steeper.fold is not its bias: .* let fold return None"):
        Model(position="Steeper").position.build(**SIZES)


def test_trying_the_methods_costs_no_random_number(write):
    load_parts(
        write(
            MINE.replace("self.size * ", "torch.rand(()) * ").replace(
                "from dataclasses", "import torch\nfrom dataclasses"
            )
        )
    )
    before = torch.random.get_rng_state()
    Model(position="Parity").position.build(**SIZES)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_options_that_the_constructor_does_not_take_are_named(write):
    load_parts(write(MINE))
    with pytest.raises(ValueError, match=r"Parity cannot be built with .*sise: got an unexpected keyword argument"):
        CustomPosition(kind="Parity", options={"sise": 2}).build(**SIZES)
    with pytest.raises(ValidationError, match="d_model is given by the model and cannot be an option"):
        CustomPosition(kind="Parity", options={"d_model": 2})
