"""Who translates fastest? Our native core against CTranslate2 at its best, and whoever else is asked for.

All have the same weights and sources. Before the clock starts, what each of them writes is compared with what our
float32 model writes; of real sentences, its BLEU is told too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import sacrebleu
import torch

from prosector.bench import engines, joeynmt
from prosector.bench.contest import Contest
from prosector.bench.engines import Translate
from prosector.bench.rounds import Rate, race
from prosector.training.precision import multiplies_bf16

OURS, THEIRS = "prosector", "CTranslate2"
Make = Callable[[Contest, int], Translate]


def contenders(n: int, threads: int, everybody: bool, shortlist: bool = False) -> dict[str, Make]:
    """Who takes part with n sentences, each at every setting that may be its best.

    Args:
        n: the sentences.
        threads: that all may use together.
        everybody: in float32 and in bf16 too, and Hugging Face's.
        shortlist: also ours with its shortlist, which does less than the others, and counts as none of ours.
    """
    of = engines
    found: dict[str, Make] = {f"{OURS}, int8, 1 thread": lambda c, beam: of.of_native(c, beam, 1)}
    found[f"{THEIRS}, int8, 1 thread"] = lambda c, beam: of.of_ctranslate2(c, beam, "int8", 1, 1)
    if threads > 1:
        many = f"{threads} threads"
        found[f"{THEIRS}, int8, {many}"] = lambda c, beam: of.of_ctranslate2(c, beam, "int8", threads, 1)
        if n > 1:
            found[f"{OURS}, int8, {many}"] = lambda c, beam: of.of_native(c, beam, threads)
            found[f"{THEIRS}, int8, {threads} workers"] = lambda c, beam: of.of_ctranslate2(c, beam, "int8", 1, threads)
    if shortlist:
        most = threads if n > 1 else 1
        name = f"{OURS} with a shortlist, int8, {most} thread{'s' * (most > 1)}"
        found[name] = lambda c, beam: of.of_native(c, beam, most, shortlist=True)
    if everybody:
        found["prosector on PyTorch, float32"] = lambda c, beam: of.of_pytorch(c, beam, "float32")
        found[f"{THEIRS}, float32, 1 thread"] = lambda c, beam: of.of_ctranslate2(c, beam, "float32", 1, 1)
        if threads > 1 and n > 1:
            whole = f"{THEIRS}, float32, {threads} workers"
            found[whole] = lambda c, beam: of.of_ctranslate2(c, beam, "float32", 1, threads)
        found["Hugging Face, float32"] = lambda c, beam: of.of_hugging_face(c, beam, "float32")
        if multiplies_bf16(engines.CPU):
            found["prosector on PyTorch, bf16"] = lambda c, beam: of.of_pytorch(c, beam, "bf16")
            found["Hugging Face, bf16"] = lambda c, beam: of.of_hugging_face(c, beam, "bf16")
    return found


class Entry(NamedTuple):
    """One contender in one contest.

    Attributes:
        rate: target tokens a second.
        same: the share of sentences in which it writes what our float32 model writes.
        bleu: of what it writes; none for made-up sentences.
    """

    rate: Rate
    same: float
    bleu: float | None


class Result(NamedTuple):
    """A contest.

    Attributes:
        model: its name.
        n: how many sentences at once.
        beam: 1 is greedy.
        entries: everybody's.
        left_out: who cannot express the model, and why.
        versions: of what runs in a Python of its own.
    """

    model: str
    n: int
    beam: int
    entries: dict[str, Entry]
    left_out: dict[str, str]
    versions: dict[str, str]

    def best(self, of: str) -> float:
        """The highest median rate of the contenders whose names begin so."""
        return max(entry.rate.median for name, entry in self.entries.items() if name.startswith(f"{of},"))

    @property
    def ratio(self) -> float:
        """Ours over CTranslate2's, each at its best."""
        return self.best(OURS) / self.best(THEIRS)

    def record(self) -> dict[str, Any]:
        """All of it, for JSON."""
        entries = {
            name: {"tokens_per_second": entry.rate._asdict(), "same": entry.same, "bleu": entry.bleu}
            for name, entry in self.entries.items()
        }
        return self._asdict() | {"ratio": self.ratio, "entries": entries}


def run(
    contest: Contest, beam: int, threads: int, seconds: float, everybody: bool = False, joey: Path | None = None
) -> Result:
    """Let them all translate the same sentences, in turns.

    Args:
        contest: the model and the sentences.
        beam: 1 is greedy.
        threads: that all may use together.
        seconds: how long the turns may take.
        everybody: the slower ones too.
        joey: a Python that has JoeyNMT, if it shall take part.
    """
    torch.set_num_threads(threads)  # a peer may have changed it for the whole process
    working: dict[str, Translate] = {}
    left_out: dict[str, str] = {}
    versions: dict[str, str] = {}
    with ExitStack() as running:
        for name, make in contenders(len(contest.sources), threads, everybody, bool(contest.shortlist.start)).items():
            try:
                working[name] = make(contest, beam)
            except ValueError as error:  # it cannot express the model
                left_out[name] = str(error)
        if joey:
            try:
                theirs = running.enter_context(joeynmt.translating(contest, beam, joey, threads))
            except ValueError as error:
                left_out["JoeyNMT"] = str(error)
            else:
                versions = theirs.versions
                types = ("float32", "bf16") if multiplies_bf16(engines.CPU) else ("float32",)
                working |= {f"JoeyNMT, {precision}": partial(theirs.do, precision) for precision in types}
        reference = engines.of_pytorch(contest, beam, "float32")()
        written = {name: translate() for name, translate in working.items()}
        rates = race({name: counted(translate) for name, translate in working.items()}, seconds)
    entries = {
        name: Entry(rates[name], same(written[name], reference), bleu(contest, written[name])) for name in working
    }
    return Result(contest.name, len(contest.sources), beam, entries, left_out, versions)


def counted(translate: Translate) -> Callable[[], float]:
    """How many tokens it wrote, ends included."""
    return lambda: float(sum(len(ids) + 1 for ids in translate()))


def same(found: Sequence[Sequence[int]], reference: Sequence[Sequence[int]]) -> float:
    """The share of targets that are the reference's."""
    return sum(map(list.__eq__, map(list, found), map(list, reference))) / len(reference)


def bleu(contest: Contest, found: Sequence[Sequence[int]]) -> float | None:
    """Of real sentences."""
    if not contest.references:
        return None
    texts = [contest.target.decode(ids) for ids in found]
    tokenize = "zh" if contest.config.target == "zh" else "13a"
    return float(sacrebleu.corpus_bleu(texts, [contest.references], tokenize=tokenize).score)
