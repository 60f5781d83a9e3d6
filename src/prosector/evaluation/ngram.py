"""An n-gram model, to be beaten: the next token from counts of what followed the last n - 1.

    p(w | h) = max(c(h w) - D, 0) / c(h) + D · N₁₊(h ·) / c(h) · p(w | h')           h' is h without its first token

Interpolated Kneser-Ney (Kneser & Ney 1995; Chen & Goodman 1999, section 2.7): what was seen gives away a discount D,
which goes to the shorter history; and a shorter history counts in how many *different* contexts a token came, not how
often, so that *Francisco* is not likely just because *San Francisco* is frequent. D = n₁ / (n₁ + 2 n₂) for each order,
of n-grams seen once and twice. What no order has seen shares the last D evenly with all the vocabulary.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

Gram = tuple[int, ...]


class NGram:
    """Kneser-Ney over tokens.

    Args:
        stream: the tokens to count.
        n: tokens of the longest n-gram, 1 or more.
        vocab: how many tokens there are.
    """

    def __init__(self, stream: Sequence[int], n: int, vocab: int) -> None:
        self.n, self.vocab = n, vocab
        counts = [Counter(zip(*(stream[i:] for i in range(n)), strict=False))]  # c(h w), of the longest
        for _ in range(n - 1):  # of the shorter ones: how many different tokens came before
            counts.append(Counter(gram[1:] for gram in counts[-1]))
        self.counts = counts[::-1]  # by length: of one token, two, …
        self.discounts = [discount(grams.values()) for grams in self.counts]
        self.totals: list[dict[Gram, int]] = []  # c(h)
        self.followers: list[dict[Gram, int]] = []  # N₁₊(h ·)
        for grams in self.counts:
            total: defaultdict[Gram, int] = defaultdict(int)
            followers: defaultdict[Gram, int] = defaultdict(int)
            for gram, count in grams.items():
                total[gram[:-1]] += count
                followers[gram[:-1]] += 1
            self.totals.append(dict(total))
            self.followers.append(dict(followers))

    def p(self, history: Gram, token: int) -> float:
        """p(token | the last tokens of the history)."""
        found = 1 / self.vocab
        for order in range(min(len(history), self.n - 1) + 1):
            last = history[len(history) - order :]
            total = self.totals[order].get(last, 0)
            if not total:
                return found  # nobody has seen this history, nor any longer one
            kept = max(self.counts[order].get((*last, token), 0) - self.discounts[order], 0)
            found = (kept + self.discounts[order] * self.followers[order][last] * found) / total
        return found

    def nats(self, stream: Sequence[int]) -> float:
        """Σ - log p of all tokens but the first, each given those before it."""
        return sum(
            -math.log(self.p(tuple(stream[max(0, i - self.n + 1) : i]), stream[i])) for i in range(1, len(stream))
        )


def discount(counts: Iterable[int]) -> float:
    """n₁ / (n₁ + 2 n₂); a half where nothing was seen once."""
    seen = Counter(counts)
    return seen[1] / (seen[1] + 2 * seen[2]) if seen[1] else 0.5
