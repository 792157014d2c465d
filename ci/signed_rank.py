"""Wilcoxon's signed-rank test, exact, and the estimates that go with it. Pure functions of arrays.

The null distribution is that of the ranks at hand under random signs: ties share their mean rank
and stay exact. A difference of exactly zero counts as evidence against the claim.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf

import numpy as np
from scipy import stats

from ci.estimate import Array


@dataclass(frozen=True, slots=True)
class PairedEstimate:
    """The effect of pairs in log units, from their differences (head - base, a pair an element)."""

    differences: Array

    @property
    def effect(self) -> float:
        """Hodges-Lehmann: the median of the Walsh averages."""
        return float(np.median(_walsh_averages(self.differences)))

    @property
    def floor(self) -> float:
        """The spread of a single pair, robustly: half of what holds the middle 68% of them.

        The level of a test that is exact is spent in full by a point whose control is none (its
        ratio jumps between processes). A loss that is smaller than such jumps is not called one.
        """
        low, high = np.quantile(self.differences, [0.16, 0.84])
        return float(high - low) / 2

    def p_above(self, bound: float) -> float:
        """One-sided p of the hypothesis "the true effect is at most bound"."""
        return signed_rank_p(self.differences - bound)

    def p_below(self, bound: float) -> float:
        """One-sided p of the hypothesis "the true effect is at least bound"."""
        return signed_rank_p(bound - self.differences)

    def low(self, alpha: float) -> float:
        """The bound that the test would reject at level alpha from here down; -inf: no such."""
        return -_upper_bound(-self.differences, alpha)

    def high(self, alpha: float) -> float:
        return _upper_bound(self.differences, alpha)


def signed_rank_p(differences: Array) -> float:
    """Exact p of "symmetric about a value of at most 0", against "above 0"."""
    ranks = np.rint(2 * stats.rankdata(np.abs(differences))).astype(int)  # whole, also with ties
    observed = int(ranks[differences > 0].sum())
    return float(_upper_tails(tuple(np.sort(ranks).tolist()))[observed])


def _upper_bound(differences: Array, alpha: float) -> float:
    """The largest effect that "the true effect is at least this" survives at level alpha."""
    averages = np.sort(_walsh_averages(differences))
    tails = _upper_tails(tuple(range(1, differences.size + 1)))
    critical = int(np.argmax(tails <= alpha))  # 0: no outcome of so few pairs would reject
    return float(averages[critical - 1]) if critical else inf


def _walsh_averages(differences: Array) -> Array:
    rows, columns = np.triu_indices(differences.size)
    return (differences[rows] + differences[columns]) / 2


@lru_cache(maxsize=1024)  # those without ties all come back
def _upper_tails(ranks: tuple[int, ...]) -> Array:
    """P(sum of the ranks with positive sign >= t) for t = 0, 1, ..., all signs equally likely."""
    share = np.ones(1)
    for rank in ranks:
        longer = np.zeros(share.size + rank)
        longer[: share.size] += share / 2
        longer[rank:] += share / 2
        share = longer
    tails: Array = np.cumsum(share[::-1])[::-1]
    return tails
