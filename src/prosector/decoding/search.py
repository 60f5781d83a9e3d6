"""One door to all decoders: from a config to each source's targets."""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Int
from torch import Tensor

from prosector.config.decoding import DecodingConfig
from prosector.decoding.beam import beam_search
from prosector.decoding.greedy_search import greedy
from prosector.decoding.hypothesis import Hypothesis
from prosector.decoding.rules import Rule
from prosector.decoding.sampling import generator_of, sample
from prosector.decoding.step import EncoderDecoder


def search(
    model: EncoderDecoder,
    src: Int[Tensor, "B Ls"],
    max_length: Sequence[int],
    texts: Sequence[str],
    rule: Rule,
    decoding: DecodingConfig,
) -> list[list[Hypothesis]]:
    """Each source's targets, the best first: `n_best` or fewer of a beam, one otherwise.

    Args:
        src: the sources' ids, `<pad>` on the right.
        max_length: the longest target of each.
        texts: what the sources say; a text's draws, if it is sampled, depend on it and the seed alone.
        rule: which tokens must not come next.
    """
    match decoding.method:
        case "greedy":
            return [[found] for found in greedy(model, src, max_length, decoding.alpha, rule)]
        case "beam":
            return beam_search(
                model, src, max_length, beam=decoding.size, alpha=decoding.alpha, n_best=decoding.n_best, rule=rule
            )
        case "sampling":
            drawn = sample(
                model,
                src,
                max_length,
                [generator_of(decoding.seed or 0, text) for text in texts],
                temperature=1.0 if decoding.temperature is None else decoding.temperature,
                top_k=decoding.top_k,
                top_p=decoding.top_p,
                alpha=decoding.alpha,
                rule=rule,
            )
            return [[found] for found in drawn]
