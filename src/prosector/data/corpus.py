"""Sentence pairs from files: a table, or two files side by side; plain, .gz or .xz."""

from __future__ import annotations

import gzip
import lzma
import os
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from prosector.config.data import DataConfig, FileConfig
from prosector.config.reading import ReadingDataConfig
from prosector.text import script_of, simplify

PRESETS = Path(__file__).parents[1] / "presets"


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str


def find(path: str) -> Path:
    """A file by its path; a relative one is looked for in $PROSECTOR_DATA, then here, then beside the presets.

    Raises:
        FileNotFoundError: it is in none of these places.
    """
    given = Path(path).expanduser()
    data = os.environ.get("PROSECTOR_DATA")
    places = ([Path(data) / given] if data else []) + [given, PRESETS / given]
    for place in places:
        if place.is_dir():
            raise ValueError(f"{path} is a folder; name a file of sentence pairs")
        if place.is_file():
            return place
    looked = " or ".join(dict.fromkeys(str(place.absolute()) for place in places if place != PRESETS / given))
    hint = "" if given.is_absolute() or data else "; set PROSECTOR_DATA to the folder that has it"
    raise FileNotFoundError(f"no file at {looked}{hint}")


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 text file, a BOM allowed, unpacked if its name ends in .gz or .xz.

    Raises:
        ValueError: a line that is not UTF-8, or a file that cannot be unpacked; it is named.
    """
    number = 0
    try:
        with open_binary(path) as file:
            for number, raw in enumerate(file, start=1):
                text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                yield text.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: not UTF-8 ({error.reason} at byte {error.start})") from error
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path}: cannot be unpacked after line {number} ({error})") from error


def open_binary(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked."""
    opener = {".gz": gzip.open, ".xz": lzma.open}.get(path.suffix, open)
    return cast("IO[bytes]", opener(path, "rb"))  # type: ignore[operator]


def read_table(path: Path, columns: tuple[str, ...], source: str, target: str) -> Iterator[Pair]:
    """Pairs from tab-separated columns; empty lines are skipped.

    Raises:
        ValueError: a line with too few columns, or with an empty side.
    """
    first, second = columns.index(source), columns.index(target)
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) <= max(first, second):
            raise ValueError(
                f"{path}, line {number}: {len(cells)} column{'s' * (len(cells) > 1)} where {', '.join(columns)} "
                f"are expected, separated by tabs: {line[:60]!r}"
            )
        pair = Pair(cells[first].strip(), cells[second].strip())
        if not (pair.source and pair.target):
            raise ValueError(f"{path}, line {number}: one side is empty: {line[:60]!r}")
        yield pair


def read_parallel(source: Path, target: Path) -> Iterator[Pair]:
    """Pairs from two files, line by line; pairs with an empty side are skipped.

    Raises:
        ValueError: the files differ in length.
    """
    left, right = list(lines(source)), list(lines(target))
    if len(left) != len(right):
        raise ValueError(f"{source} has {len(left):,} lines and {target} {len(right):,}; parallel files have as many")
    for one, other in zip(left, right, strict=True):
        if one.strip() and other.strip():
            yield Pair(one.strip(), other.strip())


def simplified(pairs: list[Pair], source: str) -> list[Pair]:
    """The pairs with their Chinese side in simplified characters."""
    if source == "zh":
        return [Pair(simplify(pair.source), pair.target) for pair in pairs]
    return [Pair(pair.source, simplify(pair.target)) for pair in pairs]


def read_pairs(file: FileConfig, source: str, target: str) -> list[Pair]:
    """All pairs of one corpus.

    Raises:
        ValueError: it holds none, a broken line, or the languages in the other order.
    """
    if isinstance(file.path, str):
        path = find(file.path)
        pairs = list(read_table(path, file.columns, source, target))
    else:
        path = find(file.path[0])
        pairs = list(read_parallel(path, find(file.path[1])))
    if not pairs:
        raise ValueError(f"{path} holds no sentence pair")
    if exchanged(pairs[:1000], source, target):
        way_out = "name its columns in their order" if isinstance(file.path, str) else "exchange the two files"
        raise ValueError(f"{path}: what should be {source} is {target}, and the other way round; {way_out}")
    return pairs


def exchanged(pairs: list[Pair], source: str, target: str) -> bool:
    """Whether most pairs have each side in the other's script."""
    wrong = sum((script_of(pair.source), script_of(pair.target)) == (target, source) for pair in pairs)
    return wrong > len(pairs) / 2


def read_split(config: DataConfig | ReadingDataConfig, held_out: int = 1000) -> tuple[list[list[Pair]], list[Pair]]:
    """The training corpora, one list each, and the development pairs.

    Without development files some pairs are held out, drawn by lot, a tenth of all at most but
    one at least; a training pair that equals a development pair on either side is dropped.
    """
    train = [read_pairs(file, config.source, config.target) for file in config.train]
    dev = [pair for file in config.dev for pair in read_pairs(file, config.source, config.target)]
    if config.simplify:
        train, dev = [simplified(corpus, config.source) for corpus in train], simplified(dev, config.source)
    if not dev:
        n_pairs = sum(map(len, train))
        held_out = min(held_out, max(1, n_pairs // 10), n_pairs)
        dev = random.Random(1).sample([pair for corpus in train for pair in corpus], held_out)
    sources, targets = {pair.source for pair in dev}, {pair.target for pair in dev}
    train = [[pair for pair in corpus if pair.source not in sources and pair.target not in targets] for corpus in train]
    return train, dev
