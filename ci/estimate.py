"""The statistics of the judge: location, spread and tests. Pure functions of arrays.

Two-sample effect: Hodges-Lehmann (median of all pairwise differences), which one wild trial cannot
move. Spread: Yuen's standard error (winsorised variance, 20% a side), which a spike cannot inflate
and which a bimodal series keeps. Several tests at once: Holm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]

_WINSORISED = 0.2  # Yuen's usual share; below five trials it takes none


@dataclass(frozen=True, slots=True)
class Estimate:
    """An effect in log units with its standard error and degrees of freedom (may be infinite)."""

    effect: float
    standard_error: float
    df: float
    floor: float = 0.0  # the test alone decides what is noise

    def p_above(self, bound: float) -> float:
        """One-sided p of the hypothesis "the true effect is at most bound"."""
        return _student_upper_tail(self.df, self.effect - bound, self.standard_error)

    def p_below(self, bound: float) -> float:
        """One-sided p of the hypothesis "the true effect is at least bound"."""
        return _student_upper_tail(self.df, bound - self.effect, self.standard_error)

    def low(self, alpha: float) -> float:
        """The one-sided lower bound at level alpha."""
        return self.effect - self._margin(alpha)

    def high(self, alpha: float) -> float:
        """The one-sided upper bound at level alpha."""
        return self.effect + self._margin(alpha)

    def _margin(self, alpha: float) -> float:
        return _student_quantile(self.df, 1.0 - alpha) * self.standard_error


def compare(base: Array, head: Array, day_std: float) -> Estimate:
    """The effect of head over base, a trial an element, three or more on each side.

    day_std is known from history rather than estimated, so it adds variance and takes no degree of
    freedom (Welch-Satterthwaite).
    """
    effect = float(np.median(np.subtract.outer(head, base)))
    base_variance, base_df = _yuen(base)
    head_variance, head_df = _yuen(head)
    variance = base_variance + head_variance + day_std**2
    uncertainty = base_variance**2 / base_df + head_variance**2 / head_df
    df = variance**2 / uncertainty if uncertainty > 0 else math.inf
    return Estimate(effect, math.sqrt(variance), df)


def compare_matched(base: Array, head: Array, day_std: float) -> Estimate:
    """The same of two series whose elements i belong together: what moves both of them cancels.

    Elements without a partner are left out.
    """
    matched = min(base.size, head.size)
    located = locate(head[:matched] - base[:matched])
    variance = located.standard_error**2
    total = variance + day_std**2
    df = total**2 / (variance**2 / located.df) if variance > 0 else math.inf
    return Estimate(located.effect, math.sqrt(total), df)


def locate(series: Array) -> Estimate:
    """The one-sample Hodges-Lehmann location of three or more trials (median of Walsh averages)."""
    rows, columns = np.triu_indices(series.size)
    variance, df = _yuen(series)
    effect = float(np.median((series[rows] + series[columns]) / 2))
    return Estimate(effect, math.sqrt(variance), df)


def holm(p_values: Sequence[float]) -> Array:
    """Holm's adjusted p-values, in the order given."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _yuen(series: Array) -> tuple[float, int]:
    """Squared standard error of the location, and its degrees of freedom (Yuen 1974)."""
    n = series.size
    tail = int(_WINSORISED * n)
    ordered = np.sort(series)
    winsorised = np.clip(ordered, ordered[tail], ordered[n - 1 - tail])
    kept = n - 2 * tail
    squares = float(np.sum((winsorised - winsorised.mean()) ** 2))
    return squares / (kept * (kept - 1)), kept - 1


def _student_upper_tail(df: float, distance: float, standard_error: float) -> float:
    if standard_error == 0:
        return 0.0 if distance > 0 else 1.0
    t = distance / standard_error
    return float(special.ndtr(-t) if math.isinf(df) else special.stdtr(df, -t))


def _student_quantile(df: float, share: float) -> float:
    return float(special.ndtri(share) if math.isinf(df) else special.stdtrit(df, share))
