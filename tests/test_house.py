"""The laws of the house, read off the code itself: each is a function from a source to its offences."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"

# The floors of the house from the ground up. A module imports from floors below and from its own floor;
# modules of the package's root that are not named here (prosector/__init__.py) live under the roof, on top of all.
FLOORS = ["presets", "pretrained", "tap", "config", "attention", "positions", "blocks", "nn", "models"]
FLOORS += ["observe", "text", "data", "evaluation", "decoding", "explain", "training", "lab", "interop", "bench"]
FLOORS += ["serve", "cli"]

MAX_LINES = 300
TEXTS = {".cff", ".json", ".jsonl", ".log", ".md", ".py", ".sh", ".toml", ".txt", ".yaml"}

Offence = tuple[int, str]  # line, what is wrong there


@dataclass(frozen=True)
class Source:
    """A file of Python, by its path inside src."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def package(self) -> str:
        return self.module if self.path.endswith("__init__.py") else self.module.rpartition(".")[0]

    @property
    def lines(self) -> list[str]:
        return self.text.splitlines()


SOURCES = [Source(p.relative_to(SRC).as_posix(), p.read_text("utf-8")) for p in sorted(SRC.rglob("*.py"))]


# --- reading imports ---------------------------------------------------------------------------------------------


def is_lazy(node: ast.AST) -> bool:
    """A function's body runs later, and what is under TYPE_CHECKING never."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


def statements(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    """All nodes in reading order; without `lazy`, only what runs when the module is imported."""
    for child in ast.iter_child_nodes(node):
        yield child
        if lazy or not is_lazy(child):
            yield from statements(child, lazy)


def imports(source: Source, lazy: bool = True) -> Iterator[tuple[int, str]]:
    """Line and full name of every module that is imported, relative names made absolute."""
    for node in statements(source.tree, lazy):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            above = source.package.split(".")
            base = [".".join(above[: len(above) - node.level + 1])] if node.level else []
            base += [node.module] if node.module else []
            for alias in node.names:
                yield node.lineno, ".".join([*base, alias.name])  # a name may be a module: prosector.tap


def floor(module: str) -> int | None:
    """How high a module of ours lives; None for a package that has no floor yet."""
    name = module.split(".")[1] if "." in module else ""
    if name in FLOORS:
        return FLOORS.index(name)
    is_package = any(source.path.startswith(f"prosector/{name}/") for source in SOURCES)
    return None if is_package else len(FLOORS)


# --- the laws ----------------------------------------------------------------------------------------------------


def imports_go_down_only(source: Source) -> Iterator[Offence]:
    """Configs build what stands above them, so their functions may import upwards; nobody else's may."""
    here = floor(source.module)
    if here is None:
        yield 1, f"the package of {source.module} has no floor: give it one in FLOORS of tests/test_house.py"
        return
    for line, name in imports(source, lazy=not source.module.startswith("prosector.config")):
        if name.split(".")[0] != "prosector":
            continue
        there = floor(name)
        if there is None or there > here:
            yield line, f"{source.module} imports upwards: {name}"


def configs_import_no_torch(source: Source) -> Iterator[Offence]:
    if source.module.startswith("prosector.config"):
        for line, name in imports(source, lazy=False):
            if name.split(".")[0] == "torch":
                yield line, f"a config imports {name}: import it inside build()"


def a_file_holds_one_idea(source: Source) -> Iterator[Offence]:
    if len(source.lines) > MAX_LINES:
        yield MAX_LINES + 1, f"{len(source.lines)} lines, over {MAX_LINES}: which second idea can move out?"


def nothing_is_unpickled(source: Source) -> Iterator[Offence]:
    for line, name in imports(source):
        if name.split(".")[0] in {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}:
            yield line, f"imports {name}: weights are safetensors, all else is JSON or TOML"
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Call):
            continue
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
        if ast.unparse(node.func) == "torch.load" and given.get("weights_only") != "True":
            yield node.lineno, "torch.load without weights_only=True runs whatever the file holds"
        if given.get("allow_pickle", "False") != "False":
            yield node.lineno, "allow_pickle runs whatever the file holds"


def no_bare_assert(source: Source) -> Iterator[Offence]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assert):
            yield node.lineno, "`assert` vanishes under -O and explains nothing: raise an error that names the value"


def public_modules_say_what_they_are(source: Source) -> Iterator[Offence]:
    private = any(part.startswith("_") for part in source.module.split("."))
    if not private and source.text.strip() and not ast.get_docstring(source.tree):
        yield 1, f"{source.module} has no docstring"


def no_machine_is_named(source: Source) -> Iterator[Offence]:
    for number, line in enumerate(source.lines, start=1):
        if found := re.search(r"(?<![\w.~*-])/(work|root|home|Users)/", line):
            yield number, f"{found[0]} is a path of one machine"


LAWS = [
    imports_go_down_only,
    configs_import_no_torch,
    a_file_holds_one_idea,
    nothing_is_unpickled,
    no_bare_assert,
    public_modules_say_what_they_are,
    no_machine_is_named,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_every_source_keeps_the_law(law):
    offences = [f"src/{source.path}:{line}: {what}" for source in SOURCES for line, what in law(source)]
    assert not offences, "\n".join(["", *offences])


# Each law sees its offender, at its line; a law that cannot be broken would be no law.
OFFENDERS = [
    (imports_go_down_only, "prosector/attention/a.py", "import math\nfrom prosector.blocks.norm import LayerNorm", 2),
    (imports_go_down_only, "prosector/attention/a.py", "def f():\n    from ..models import gpt", 2),
    (imports_go_down_only, "prosector/text/__init__.py", "from . import a\nfrom ..cli import main", 2),
    (imports_go_down_only, "prosector/tap.py", "from prosector import load", 1),
    (imports_go_down_only, "prosector/config/a.py", "from prosector.blocks import norm", 1),
    (configs_import_no_torch, "prosector/config/a.py", "try:\n    from torch import nn\nexcept ImportError: ...", 2),
    (a_file_holds_one_idea, "prosector/a.py", "x = 1\n" * 301, 301),
    (nothing_is_unpickled, "prosector/a.py", "def f():\n    import pickle", 2),
    (nothing_is_unpickled, "prosector/a.py", "import torch\ntorch.load('a', weights_only=False)", 2),
    (nothing_is_unpickled, "prosector/a.py", "np.load('a', allow_pickle=True)", 1),
    (no_bare_assert, "prosector/a.py", "def f(x):\n    assert x > 0", 2),
    (public_modules_say_what_they_are, "prosector/a.py", "import math", 1),
    (no_machine_is_named, "prosector/a.py", "x = 1\ny = '/" + "root/data'", 2),
]


@pytest.mark.parametrize(("law", "path", "text", "line"), OFFENDERS)
def test_a_law_sees_its_offender(law, path, text, line):
    assert [found for found, _ in law(Source(path, text))] == [line]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("prosector/config/a.py", "def build():\n    import torch\n    from prosector.models import gpt"),
        ("prosector/config/a.py", "if TYPE_CHECKING:\n    from torch import nn\n    from ..models import gpt"),
        ("prosector/blocks/a.py", "from prosector.tap import tap\nfrom ..attention.masks import Mask\nfrom . import b"),
        ("prosector/__init__.py", "from prosector.cli import main"),
        ("prosector/a.py", "import torch\ntorch.load('a', weights_only=True)\nhelp = 'see https://example.org/root/x'"),
    ],
)
def test_what_is_allowed_offends_nobody(path, text):
    source = Source(path, f'"""What it is."""\n{text}')
    assert [what for law in LAWS for _, what in law(source)] == []


def test_the_configs_load_without_torch():
    """Reading a preset must be instant: not even by a detour do all the configs together load PyTorch."""
    modules = [source.module for source in SOURCES if source.module.startswith("prosector.config")]
    code = f"import sys, {', '.join(modules)}\nsys.exit('torch was loaded' if 'torch' in sys.modules else 0)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"importing {', '.join(modules)}: {run.stderr}"


def english_and_chinese() -> list[tuple[Path, Path]]:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("*.zh-CN.md"), *ROOT.glob("docs/**/*.md")]
    english = {page.with_name(page.name.replace(".zh-CN.md", ".md")) for page in pages}
    return [(page, page.with_suffix(".zh-CN.md")) for page in sorted(english)]


def test_every_page_is_there_in_both_languages():
    missing = [page for pair in english_and_chinese() for page in pair if not page.exists()]
    assert not missing, "\n".join(["", *(f"{page.relative_to(ROOT)}:1: the page is missing" for page in missing)])


def test_no_page_or_script_names_a_machine():
    folders = ["tests", "docs", "benchmarks", "results"]
    files = [p for p in ROOT.iterdir() if p.suffix in TEXTS]
    files += [ROOT / "Makefile", ROOT / ".ci/run"]
    files += [p for folder in folders for p in (ROOT / folder).rglob("*") if p.suffix in TEXTS]
    offences = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sorted(files)
        for line, what in no_machine_is_named(Source(path.name, path.read_text("utf-8")))
    ]
    assert not offences, "\n".join(["", *offences])
