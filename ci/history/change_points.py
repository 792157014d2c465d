"""The changes of one series within one epoch: steps, each at a night, and slow creep. Pure.

A step is a split that the scan finds significant and that moved the level by at least the floor.
Any scan cuts a drift into a staircase, so a flight of steps in one direction that a straight line
describes better is none. Creep is what the steps leave unexplained: a trend (Mann-Kendall) from the
anchor to now that amounts to the floor.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, stats

from ci.estimate import Array, Estimate, compare
from ci.history.scan import settle, strongest_split
from ci.policy import CHANGE_ALPHA, CHANGE_NIGHTS, CREEP_NIGHTS, INTERVAL_ALPHA

_SPIKES = 2 * CHANGE_NIGHTS - 1  # a running median this wide removes spikes and keeps edges
_LEAST_VARIANCE = 1e-12  # of a series without any noise: a millionth is nothing


class Kind(StrEnum):
    step = "step"
    creep = "creep"


@dataclass(frozen=True, slots=True)
class Change:
    """In log units: above 0 is slower. before, at: elements of the series."""

    kind: Kind
    before: int  # the last night of the old level; of a creep, where it is measured from
    at: int  # the first night of the new level; of a creep, the last night of all
    effect: float
    low: float
    high: float
    p: float

    def at_nights(self, nights: NDArray[np.int_]) -> Change:
        """The same change of a series whose elements are of these nights."""
        return replace(self, before=int(nights[self.before]), at=int(nights[self.at]))


def find_changes(series: Array, floor: float, anchor: int = 0) -> list[Change]:
    """The steps, oldest first, then the creep since the anchor's element, if there is any."""
    if series.size < 2 * CHANGE_NIGHTS:
        return []
    splits = _settled(series, _significant(series, 0))
    abrupt = [flight for flight in _flights(series, splits) if not _is_drift(series, flight)]
    steps = _large_enough(series, [at for flight in abrupt for at in flight.steps], floor)
    changes = [_change(Kind.step, at - 1, at, effect, splits[at]) for at, effect in steps.items()]
    return changes + _creep(series, steps, floor, anchor)


def _significant(series: Array, offset: int) -> dict[int, float]:
    """The splits with their p, in order: the strongest, then those on either side of it."""
    split = strongest_split(series)
    if split is None or split.p > CHANGE_ALPHA:
        return {}
    left = _significant(series[: split.at], offset)
    right = _significant(series[split.at :], offset + split.at)
    return left | {offset + split.at: split.p} | right


def _settled(series: Array, splits: Mapping[int, float]) -> dict[int, float]:
    """The splits where they lie between their neighbours: each was found in a short interval."""
    ends = [0, *splits, series.size]
    for index in range(1, len(ends) - 1):
        first, at, end = ends[index - 1 : index + 2]
        ends[index] = first + settle(series[first:end], at - first)
    return dict(zip(ends[1:-1], splits.values(), strict=True))


@dataclass(frozen=True, slots=True)
class _Flight:
    """Neighbouring splits that go in one direction, and the nights that they are judged in."""

    steps: list[int]
    first: int
    end: int


def _flights(series: Array, splits: Collection[int]) -> list[_Flight]:
    ends = [0, *splits, series.size]
    levels = [float(np.median(series[first:end])) for first, end in pairwise(ends)]
    slower = {
        at: after > before for at, (before, after) in zip(splits, pairwise(levels), strict=True)
    }
    runs = [list(run) for _, run in groupby(splits, key=lambda at: slower[at])]
    return [_flight(run, ends) for run in runs]


def _flight(steps: list[int], ends: list[int]) -> _Flight:
    """With half a tread on either side: a scan cuts a drift so, and what is beyond may be flat."""
    first = ends[ends.index(steps[0]) - 1]
    end = ends[ends.index(steps[-1]) + 1]
    if len(steps) > 1:
        margin = (steps[-1] - steps[0]) // (2 * (len(steps) - 1))
    else:
        margin = min(steps[0] - first, end - steps[0])
    margin = max(margin, CREEP_NIGHTS)
    return _Flight(steps, max(first, steps[0] - margin), min(end, steps[-1] + margin))


def _is_drift(series: Array, flight: _Flight) -> bool:
    """Whether a line describes the nights of a flight better than its steps do (BIC).

    A step whose place was searched for counts as three parameters (Zhang and Siegmund 2007).
    """
    smooth = ndimage.median_filter(series, size=_SPIKES, mode="nearest")
    values = smooth[flight.first : flight.end]
    nights = np.arange(values.size)
    line = np.polyval(np.polyfit(nights, values, 1), nights)
    treads = np.split(values, [at - flight.first for at in flight.steps])
    stairs = np.concatenate([np.full(tread.size, tread.mean()) for tread in treads])
    return _bic(values - line, 2) < _bic(values - stairs, 1 + 3 * len(flight.steps))


def _bic(residuals: Array, parameters: int) -> float:
    n = residuals.size
    variance = max(float(np.mean(residuals**2)), _LEAST_VARIANCE)
    return n * log(variance) + parameters * log(n)


def _effect(before: Array, after: Array) -> Estimate:
    return compare(before, after, day_std=0.0)  # nights are the sample: their spread is in it


def _large_enough(series: Array, splits: Collection[int], floor: float) -> dict[int, Estimate]:
    """The effects of the splits that move the level by floor; each small one merges two levels."""
    kept = list(splits)
    while True:
        ends = [0, *kept, series.size]
        effects = {
            at: _effect(series[first:at], series[at:end])
            for first, at, end in zip(ends, kept, ends[2:], strict=False)
        }
        if not effects:
            return effects
        smallest = min(effects, key=lambda at: abs(effects[at].effect))
        if abs(effects[smallest].effect) >= floor:
            return effects
        kept.remove(smallest)


def _creep(series: Array, steps: dict[int, Estimate], floor: float, anchor: int) -> list[Change]:
    flat = series.copy()
    for at, step in steps.items():
        flat[at:] -= step.effect
    since = flat[anchor:]
    if since.size < 2 * CREEP_NIGHTS:
        return []
    effect = _effect(since[:CREEP_NIGHTS], since[-CREEP_NIGHTS:])
    p = float(stats.kendalltau(np.arange(since.size), since).pvalue)
    if not p <= CHANGE_ALPHA or abs(effect.effect) < floor:  # NaN if all nights are equal
        return []
    return [_change(Kind.creep, anchor, series.size - 1, effect, p)]


def _change(kind: Kind, before: int, at: int, effect: Estimate, p: float) -> Change:
    tail = INTERVAL_ALPHA / 2
    return Change(kind, before, at, effect.effect, effect.low(tail), effect.high(tail), p)
