"""Where a series of nights changed its level, if it did: a rank scan with a permutation test. Pure.

The statistic of a split is the two-sample van der Waerden statistic, a sum of normal scores of
ranks, standardised for where the split lies; the scan takes its largest absolute value over the
splits of many intervals, long and short (seeded binary segmentation, Kovács et al. 2023), so that
a change that was soon mended is seen as well. Ranks make a lone spike just one high score. And they
make the permutation distribution a matter of the length alone: it is simulated once a length and
serves every series, which is what lets hundreds of series be judged in seconds. E-divisive, the
usual choice, has to permute each series by itself, and answers a change of spread as well, which
is no change of speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from ci.estimate import Array
from ci.policy import CHANGE_NIGHTS, CHANGE_PERMUTATIONS

_DECAY = sqrt(0.5)  # from one layer of intervals to the next shorter; the authors' choice
_GRID = 1.2  # lengths whose distribution is simulated
_SEED = 1


@dataclass(frozen=True, slots=True)
class Split:
    """The most striking split of a series: its new level begins at this element."""

    at: int
    p: float  # that a series without a change has one as striking, wherever


def strongest_split(series: Array) -> Split | None:
    """None for a series that is too short to have one."""
    best, at = 0.0, 0
    for length, starts in intervals(series.size):
        rows = series[starts[:, None] + np.arange(length)]
        z = _scan(rows)
        row, column = np.unravel_index(int(np.argmax(z)), z.shape)
        if z[row, column] > best:
            best = z[row, column]
            at = int(starts[row]) + settle(rows[row], int(column) + CHANGE_NIGHTS)
    if best == 0.0:
        return None
    null = _null_maxima(_simulated_length(series.size))
    exceeding = null.size - int(np.searchsorted(null, best - 1e-9))
    return Split(at, (1 + exceeding) / (1 + null.size))


def settle(series: Array, at: int) -> int:
    """Where a split really is: ranks tell that there is one, distances to the levels where."""
    left, right = (np.abs(series - np.median(side)) for side in np.split(series, [at]))
    cost = np.cumsum(left - right)  # of each night on the left that could be on the right
    return int(np.argmin(cost[CHANGE_NIGHTS - 1 : series.size - CHANGE_NIGHTS])) + CHANGE_NIGHTS


def intervals(size: int) -> Iterator[tuple[int, NDArray[np.int_]]]:
    """Lengths with their starts: layers of intervals that overlap by half, ever shorter."""
    shortest = 2 * CHANGE_NIGHTS
    length = float(size)
    while ceil(length) >= shortest:
        whole = ceil(length)
        count = 2 * ceil(size / length) - 1
        yield whole, np.unique(np.linspace(0, size - whole, count).astype(int))
        length *= _DECAY


def _scan(rows: Array) -> Array:
    """|z| of the splits of each row, CHANGE_NIGHTS from its ends; 0 where all values are equal."""
    length = rows.shape[1]
    scores = special.ndtri(stats.rankdata(rows, axis=1) / (length + 1))
    spread = np.mean(scores**2, axis=1, keepdims=True)  # scores are symmetric about 0
    left = np.arange(CHANGE_NIGHTS, length - CHANGE_NIGHTS + 1)
    sums = np.cumsum(scores, axis=1)[:, left - 1]
    deviation = np.sqrt(spread * left * (length - left) / (length - 1))
    z: Array = np.abs(np.divide(sums, deviation, out=np.zeros_like(sums), where=deviation > 0))
    return z


def _simulated_length(size: int) -> int:
    """The next length of a grid. More nights have more splits, so that errs on the safe side."""
    length = 2 * CHANGE_NIGHTS
    while length < size:
        length = ceil(length * _GRID)
    return length


@cache
def _null_maxima(size: int) -> Array:
    """The largest |z| of series without a change, in ascending order."""
    series = np.random.default_rng(_SEED).random((CHANGE_PERMUTATIONS, size))
    maxima = np.zeros(CHANGE_PERMUTATIONS)
    for length, starts in intervals(size):
        for start in starts:  # one interval at a time: all at once would not fit the cache
            z = _scan(series[:, start : start + length])
            np.maximum(maxima, z.max(axis=1), out=maxima)
    return np.sort(maxima)
