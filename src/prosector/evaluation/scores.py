"""BLEU and chrF, by sacrebleu, with the signature that makes a figure comparable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF


class Scores(NamedTuple):
    """Corpus scores of translations against one reference each; higher is better, 100 at most."""

    bleu: float
    chrf: float
    bleu_signature: str
    chrf_signature: str


def score(hypotheses: Sequence[str], references: Sequence[str], language: str) -> Scores:
    """BLEU (Papineni et al. 2002) and chrF (Popović 2015) of translations into `language`.

    Chinese is cut into characters for BLEU (`tokenize=zh`), every other language by sacrebleu's `13a`.

    Raises:
        ValueError: there are not as many references as translations, or none.
    """
    if len(hypotheses) != len(references) or not references:
        raise ValueError(f"{len(hypotheses)} translations and {len(references)} references: give one reference each")
    bleu, chrf = BLEU(tokenize="zh" if language == "zh" else "13a"), CHRF()
    return Scores(
        bleu.corpus_score(list(hypotheses), [list(references)]).score,
        chrf.corpus_score(list(hypotheses), [list(references)]).score,
        str(bleu.get_signature()),
        str(chrf.get_signature()),
    )
