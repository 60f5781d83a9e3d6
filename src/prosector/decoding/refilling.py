"""The other beam: what is finished makes room, so that k hypotheses go on until k are finished.

It is that of Hugging Face's `generate` with `early_stopping=True`, of fairseq's and of most libraries. In `beam.py` a
finished hypothesis keeps its place, so the beam narrows as it ends, and its end is exact; here the search stops at
the k-th that is finished, whether or not another could still win.

    1. of all continuations of the k running hypotheses, what ends among the k likeliest is finished;
    2. the k likeliest that do not end go on;
    3. until k are finished, or the longest length is reached: what is running then counts as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from prosector.decoding.beam import Beam, Continuation, Running, best
from prosector.decoding.hypothesis import Hypothesis, hypothesis


class RefillingBeam(Beam):
    """The search for one source's target; `<eos>` is one of the `max_length` tokens."""

    def n_continuations(self) -> int:
        """How many of each row are needed: the likeliest may all be ends."""
        return self.size * (1 + len(self.ends))

    def advance(self, continuations: Sequence[Sequence[Continuation]]) -> list[int]:
        """One step on. Returns which of the running hypotheses each of the new ones goes on from."""
        begun, self.running = self.running, []
        parents: list[int] = []
        ranked = sorted(
            (
                (begun[parent].log_p + log_p, parent, token)
                for parent, following in enumerate(continuations)
                for token, log_p in following
            ),
            key=lambda candidate: -candidate[0],
        )
        is_last = bool(begun) and len(begun[0].ids) + 1 == self.max_length
        for place, (log_p, parent, token) in enumerate(ranked):
            ids = begun[parent].ids
            if token in self.ends and place < self.size:
                self.finished.append(hypothesis(ids, log_p, True, self.alpha))
            elif token not in self.ends and is_last and place < self.size:
                self.cut.append(hypothesis([*ids, token], log_p, False, self.alpha))
            elif token not in self.ends and not is_last and len(parents) < self.size:
                self.running.append(Running([*ids, token], log_p))
                parents.append(parent)
        if len(self.finished) >= self.size:
            self.running, parents = [], []
        return parents

    def result(self) -> list[Hypothesis]:
        """The n best of the k best that are finished; those cut at the longest length count where there is room."""
        return best(best([*self.finished, *self.cut], self.size), self.n_best)
