"""results/speed.md, from commands to its tables.

    PROSECTOR_DATA=… .venv/bin/python benchmarks/speed.py run [--joeynmt PYTHON] [--list] [PIECE…]
    .venv/bin/python benchmarks/speed.py page

`run` runs every command of PIECES below, or of the pieces named, one after the other, and leaves a JSON file of each in
results/logs/bench, with the command, the commit and the day. Let nothing else run: on two cores all of it takes some
35 minutes, training 15 of them. benchmarks/joeynmt.sh makes a Python for --joeynmt; without one, JoeyNMT stays away.
`page` writes the page's tables and docs/pictures/speed.png from these files alone; what stands around them stays.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from prosector.bench.training import ALLOCATORS, TUNED

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "results/logs/bench"
PAGE = ROOT / "results/speed.md"
FIGURE = ROOT / "docs/pictures/speed.png"
DATA = "zh-en/dev_tatoeba_dev.tsv.xz"
JOEYNMT, LINES = "JOEYNMT", "LINES"  # in a command: --joeynmt and its Python, a file with Chinese sentences
SHIPPED = f"zh-en en-zh --data {DATA}"


class Command(NamedTuple):
    """One command and the name of its file.

    Attributes:
        name: of the file of JSON.
        words: `bench …`, or a script of this folder.
        environment: what is set for it.
    """

    name: str
    words: str
    environment: dict[str, str]


def training(size: str, seconds: int) -> Command:
    """A step of training in a size."""
    return Command(f"training-{size}", f"bench --training {size} --seconds {seconds} {JOEYNMT}", {})


PIECES: dict[str, list[Command]] = {
    "training": [training("small", 300), training("base", 300)],
    "decoding": [
        Command("small", "bench small --beam 1,5 --sentences 1,32,128 --seconds 3", {}),
        Command("base", "bench base --beam 1,5 --sentences 1,32 --seconds 3", {}),
        Command("base-128", "bench base --beam 1 --sentences 128 --seconds 3", {}),
    ],
    "shipped": [Command("shipped", f"bench {SHIPPED} --beam 1,4 --sentences 1,32,128 --seconds 2", {})],
    "everybody": [
        Command("everybody-small", f"bench small --beam 1,5 --sentences 1,32 --seconds 3 --everybody {JOEYNMT}", {}),
        Command("everybody-base", f"bench base --beam 1 --sentences 1,32 --seconds 3 --everybody {JOEYNMT}", {}),
        Command("everybody-shipped", f"bench {SHIPPED} --beam 1,4 --sentences 1,32 --everybody {JOEYNMT}", {}),
    ],
    "tokenising": [Command("tokenising", f"bench --tokenising zh-en --data {DATA} --seconds 10", {})],
    "long": [Command("long", "bench --long --length 8192", {})],
    "memory": [Command("memory", f"native_memory.py {LINES} --sentences 100000", {})],
    "cached": [Command("cached", "cached_decoding.py --rounds 60", {"OMP_NUM_THREADS": "1"})],
    "start": [Command("start", "cold_start.py", {})],
    # Pages that the system clears, whenever a large table is made anew, are no part of the formulas.
    "scaling": [Command("scaling", "scaling.py", ALLOCATORS[TUNED])],
}


def run(pieces: list[str], joeynmt: Path | None, logs: Path) -> None:
    """All commands of some pieces, each with its file."""
    logs.mkdir(parents=True, exist_ok=True)
    commit = git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", "src", "native") else "")
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        for piece in pieces:
            for command in PIECES[piece]:
                file = Path(scratch, "found.json")
                start = time.perf_counter()
                print(f"\n$ {told(command, joeynmt)}", flush=True)
                words = list(arguments(command, joeynmt, Path(scratch)))
                subprocess.run(
                    [*words, "--json", str(file)], check=True, cwd=ROOT, env=os.environ | command.environment
                )
                found = json.loads(file.read_text("utf-8"))
                day = datetime.date.today().isoformat()
                found = {"command": told(command, joeynmt), "commit": commit, "date": day} | found
                text = json.dumps(found, indent=1, ensure_ascii=False)
                (logs / f"{command.name}.json").write_text(text + "\n", "utf-8")
                print(f"{command.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(f"all: {(time.perf_counter() - began) / 60:.1f} min", file=sys.stderr)


def git(*words: str) -> str:
    """What git says."""
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def told(command: Command, joeynmt: Path | None) -> str:
    """A command as people type it, without this machine's paths."""
    verb = ".venv/bin/prosector" if command.words.startswith("bench") else ".venv/bin/python"
    words = command.words if verb.endswith("prosector") else f"benchmarks/{command.words}"
    words = words.replace(f" {JOEYNMT}", " --joeynmt …/bin/python" if joeynmt else "").replace(LINES, "lines.txt")
    settings = " ".join(f"{name}={value}" for name, value in command.environment.items())
    return f"{settings} {verb} {words}".strip()


def arguments(command: Command, joeynmt: Path | None, scratch: Path) -> Iterator[str]:
    """A command as this Python runs it."""
    yield sys.executable
    if command.words.startswith("bench"):
        yield from ("-m", "prosector.cli.main")
    for number, word in enumerate(shlex.split(command.words)):
        if word == JOEYNMT:
            yield from ("--joeynmt", str(joeynmt.absolute())) if joeynmt else ()
        elif word == DATA:
            yield str(Path(os.environ["PROSECTOR_DATA"], DATA))
        elif word == LINES:
            yield str(lines(scratch / "lines.txt"))
        else:
            yield str(ROOT / "benchmarks" / word) if number == 0 and word.endswith(".py") else word


def lines(file: Path) -> Path:
    """The Chinese sentences of the data, a line each."""
    from prosector.config.data import FileConfig
    from prosector.data.corpus import read_pairs

    pairs = read_pairs(FileConfig(path=DATA), "zh", "en")
    file.write_text("".join(f"{pair.source}\n" for pair in pairs), "utf-8")
    return file


def logs_of(folder: Path) -> dict[str, dict[str, Any]]:
    """All files of JSON, by their names."""
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    running = verbs.add_parser("run")
    running.add_argument("pieces", nargs="*", metavar="PIECE", help=", ".join(PIECES))
    running.add_argument("--joeynmt", type=Path, help="a Python that has JoeyNMT")
    running.add_argument("--list", action="store_true", help="only say what would be run")
    paging = verbs.add_parser("page")
    paging.add_argument("--page", type=Path, default=PAGE)
    paging.add_argument("--figure", type=Path, default=FIGURE)
    for verb in (running, paging):
        verb.add_argument("--logs", type=Path, default=LOGS)
    options = parser.parse_args()
    if options.verb == "page":
        from speed_page import draw_page, write_page

        found = logs_of(options.logs)
        print(*write_page(options.page, found), sep="\n")
        draw_page(options.figure, found)
        return
    if unknown := [piece for piece in options.pieces if piece not in PIECES]:
        parser.error(f"there is no piece {unknown[0]}; there are {', '.join(PIECES)}")
    pieces = options.pieces or list(PIECES)
    if options.list:
        print(*(told(command, options.joeynmt) for piece in pieces for command in PIECES[piece]), sep="\n")
        return
    if "PROSECTOR_DATA" not in os.environ:
        parser.error(f"set PROSECTOR_DATA to the folder that holds {DATA}")
    run(pieces, options.joeynmt, options.logs)


if __name__ == "__main__":
    main()
