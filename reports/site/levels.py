"""The levels of a series, between epochs and steps, and the turns that lead from one to the next.

Where a series creeps its levels slope: by the creep's whole size, evenly over its nights.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reports.site.trends import Change, Column, Series, Trends


@dataclass(frozen=True)
class Level:
    """Nights between two steps or epochs. Its speed is given at its ends, and where a creep begins
    between them; nights that are not believed have no part in it."""

    nights: tuple[int, ...]
    speeds: tuple[float, ...]


def levels(trends: Trends, series: Series) -> list[Level]:
    steps = {change.night for change in series.changes if not change.creeps}
    creep_starts = {change.since for change in series.changes if change.creeps}
    starts = {0, len(trends.nights)} | {epoch.first_night for epoch in trends.epochs} | steps
    drift = _drift(series)
    even = np.where(trends.believed, np.log(series.speed) - drift, np.nan)
    found = []
    for first, end in pairwise(sorted(starts)):
        known = np.flatnonzero(np.isfinite(even[first:end])) + first
        if known.size:
            ends = {int(known[0]), int(known[-1])}
            nights = sorted(
                ends | {night for night in creep_starts if min(ends) < night < max(ends)}
            )
            speeds = np.exp(np.median(even[known]) + drift[nights])
            found.append(Level(tuple(nights), tuple(speeds.tolist())))
    return found


def _drift(series: Series) -> Column:
    """By night: ln of what creep has made of the speed until then."""
    nights = np.arange(series.speed.size)
    drift = np.zeros(series.speed.size)
    for creep in (change for change in series.changes if change.creeps):
        done = (nights - creep.since) / (creep.night - creep.since)
        drift -= np.log1p(creep.change) * np.clip(done, 0, 1)
    return drift


@dataclass(frozen=True)
class Turn:
    """A change and where a chart marks it: a step at the level that it led to, a creep half way."""

    change: Change
    night: int
    speed: float

    @property
    def slower(self) -> bool:
        return self.change.change > 0


def turns(trends: Trends, series: Series) -> list[Turn]:
    """The steps after which the point passed at least once, and the creeps; none without times."""
    drawn = levels(trends, series)
    if not drawn:
        return []
    found = []
    for change in series.changes:
        if change.creeps:
            night = (change.since + change.night) // 2
            found.append(Turn(change, night, _speed_at(night, drawn)))
        elif after := [level for level in drawn if level.nights[0] >= change.night]:
            found.append(Turn(change, change.night, after[0].speeds[0]))
    return found


def _speed_at(night: int, drawn: list[Level]) -> float:
    nights = [night for level in drawn for night in level.nights]
    speeds = [speed for level in drawn for speed in level.speeds]
    return float(np.interp(night, nights, speeds))
