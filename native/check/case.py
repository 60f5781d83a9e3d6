"""Writes what the core is given into one file, for `check`, and what the installed core makes of it.

python case.py LINES.txt N CASE [MODEL]

The first N lines of a text are translated greedily, with a beam and by chance; what the core was handed, and what it
found, is written down: CASE, whose form `case.h` describes, and CASE.found, in lines as `check translate` prints them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import prosector_native

from prosector.config.decoding import DecodingConfig
from prosector.config.special import first_id
from prosector.decoding.installed import find_model
from prosector.decoding.native import NativeTranslator, chances_for, compiled, n_rows, searched, settings_of
from prosector.decoding.native_weights import Arrays, arrays_of
from prosector.decoding.repetition import Allowed, RepetitionGuard

WAYS = {
    "greedy": DecodingConfig(beam=1),
    "beam": DecodingConfig(beam=4, n_best=4),
    "by-chance": DecodingConfig(seed=1, top_k=50, top_p=0.9),
}


@dataclass
class Sources:
    """What the core is told of each source, whatever the way."""

    ids: list[list[int]]
    longest: list[int]
    allowed: list[Allowed]
    chances: list[list[float]]


def sources_of(translator: NativeTranslator, lines: Sequence[str]) -> Sources:
    """The sentences of all lines, as the translator would hand them over."""
    drawing = WAYS["by-chance"]
    texts = [piece.text for line in lines for piece in translator.plan(line, drawing) if not piece.candidates]
    ids = [translator.ids(text) for text in texts]
    longest = [translator.longest_target(len(each), drawing) for each in ids]
    allowed = RepetitionGuard(texts, translator.wordiness).allowed
    return Sources(ids, longest, allowed, chances_for(texts, longest, drawing))


def model_arrays(folder: Path, translator: NativeTranslator) -> Arrays:
    """Weights and tables in the order of their names."""
    from prosector.decoding.folder import with_weights

    found = arrays_of(with_weights(folder, translator.config.model), n_rows(translator.config))
    return dict(sorted(found.items()))


def written(translator: NativeTranslator, arrays: Arrays, sources: Sources) -> str:
    """All but the arrays' numbers."""
    model, words = translator.config.model, translator.wordiness
    lines = ["prosector-case 1"]
    lines += [
        f"set {name} {int(value) if isinstance(value, bool) else value}" for name, value in settings_of(model).items()
    ]
    lines += [f"first {first_id(model.special)}"]
    lines += [f"end {id}" for id in model.special.ends] + [f"unwritten {id}" for id in model.special.unwritten]
    lines += [f"wordiness {len(words)} {joined(words)}"]
    lines += [f"array {name} {array.ndim} {joined(array.shape)}" for name, array in arrays.items()]
    for name, how in WAYS.items():
        sampling = int(how.method == "sampling")
        drawn = f"{sampling} {how.temperature or 1.0} {how.top_k or 0} {how.top_p or 0.0}"
        lines += [f"way {name} {how.size} {how.alpha} {how.n_best} {drawn} 1"]
    for ids, longest, allowed, chances in zip(
        sources.ids, sources.longest, sources.allowed, sources.chances, strict=True
    ):
        lines += [f"source {longest} {joined(allowed)} {len(ids)} {joined(ids)}", joined(chances[: longest + 1])]
    return "\n".join([*lines, "data", ""])


def joined(numbers: Sequence[float]) -> str:
    """Numbers with spaces between, every digit of them."""
    return " ".join(map(repr, numbers))


def found_by_python(translator: NativeTranslator, arrays: Arrays, kernels: str, sources: Sources) -> list[str]:
    """What the installed core finds, as `check translate` prints it."""
    core, lines = compiled(translator.config, arrays, translator.wordiness, kernels), []
    for name, how in WAYS.items():
        chances = sources.chances if how.method == "sampling" else []
        found = searched(core, sources.ids, sources.longest, sources.allowed, chances, how, 1)
        for number, some in enumerate(found):
            for one in some:
                row = [kernels, name, number, int(one.finished), f"{one.log_p:.17g}", f"{one.score:.17g}"]
                lines.append("\t".join(map(str, row)) + "\t" + "".join(f" {id}" for id in one.ids))
    return lines


def main() -> None:
    file, n, out = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    folder = find_model(sys.argv[4] if len(sys.argv) > 4 else "zh-en")
    translator = NativeTranslator.load(folder)
    sources = sources_of(translator, file.read_text("utf-8").splitlines()[:n])
    arrays = model_arrays(folder, translator)
    with out.open("wb") as stream:
        stream.write(written(translator, arrays, sources).encode())
        for array in arrays.values():
            stream.write(array.astype("<f4").tobytes())
    found = [
        line for kernels in prosector_native.kernels() for line in found_by_python(translator, arrays, kernels, sources)
    ]
    out.with_name(out.name + ".found").write_text("\n".join([*found, ""]))


if __name__ == "__main__":
    main()
