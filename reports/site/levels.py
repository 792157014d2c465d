"""The levels of a series, between epochs and change points."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from reports.site.trends import Change, Series, Trends


@dataclass(frozen=True)
class Level:
    """Nights between two change points or epochs, and their median speed."""

    first: int
    last: int
    speed: float


def levels(trends: Trends, series: Series) -> list[Level]:
    starts = {0, len(trends.nights)}
    starts |= {epoch.first_night for epoch in trends.epochs}
    starts |= {change.night for change in series.changes}
    found = []
    for first, end in pairwise(sorted(starts)):
        known = np.flatnonzero(np.isfinite(series.speed[first:end])) + first
        if known.size:
            found.append(Level(known[0], known[-1], float(np.median(series.speed[known]))))
    return found


@dataclass(frozen=True)
class Turn:
    """A change point and the speed that it led to."""

    change: Change
    speed: float

    @property
    def slower(self) -> bool:
        return self.change.change > 0


def turns(trends: Trends, series: Series) -> list[Turn]:
    """The change points after which the point passed at least once."""
    found = []
    for change in series.changes:
        after = [level.speed for level in levels(trends, series) if level.first >= change.night]
        if after:
            found.append(Turn(change, after[0]))
    return found
