"""What moved: since the night before, and by change points of the last week and month."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from reports.site.trends import Change, Series, Trends

WEEK, MONTH = timedelta(days=7), timedelta(days=31)


@dataclass(frozen=True)
class Move:
    """The time of a point, relative to the control, against that of the night before."""

    series: Series
    change: float  # 0.05 = 5% slower
    low: float
    high: float

    @property
    def clear(self) -> bool:
        """The interval leaves out zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Turn:
    """A point that has another outcome than on the night before."""

    series: Series
    before: str  # empty: not visited
    after: str


@dataclass(frozen=True)
class Found:
    series: Series
    change: Change


@dataclass(frozen=True)
class Untimed:
    series: Series
    outcome: str  # empty: not visited
    since: int  # the first night of that


def moves(trends: Trends) -> list[Move]:
    """Since the night before, largest first; none on the first night."""
    if trends.last == 0:
        return []
    found = [_move(series, trends.last) for series in trends.series]
    return sorted(
        (move for move in found if move), key=lambda move: (-abs(move.change), move.series.id)
    )


def move_of(series: Series, night: int) -> Move | None:
    return _move(series, night) if night > 0 else None


def _move(series: Series, night: int) -> Move | None:
    middle = series.log_ratio[night - 1 : night + 1]
    low, high = series.low[night - 1 : night + 1], series.high[night - 1 : night + 1]
    if not np.isfinite([*middle, *low, *high]).all():
        return None
    difference = middle[1] - middle[0]
    # Two nights are independent: the half-widths of their intervals add as squares.
    down = math.hypot(middle[1] - low[1], high[0] - middle[0])
    up = math.hypot(high[1] - middle[1], middle[0] - low[0])
    return Move(
        series,
        change=math.expm1(difference),
        low=math.expm1(difference - down),
        high=math.expm1(difference + up),
    )


def turns(trends: Trends) -> list[Turn]:
    if trends.last == 0:
        return []
    found = []
    for series in trends.series:
        before, after = (series.outcome(night) for night in (trends.last - 1, trends.last))
        if before != after:
            found.append(Turn(series, before, after))
    return sorted(found, key=lambda turn: (turn.after == "passed", turn.after, turn.series.id))


def recent_changes(trends: Trends, within: timedelta) -> list[Found]:
    """Change points at most this old, largest first."""
    found = [
        Found(series, change)
        for series in trends.series
        for change in series.changes
        if trends.age(change.night) <= within
    ]
    return sorted(found, key=lambda one: (-abs(one.change.change), one.series.id))


def changes_of(series: Iterable[Series]) -> list[Found]:
    """All change points, newest first."""
    found = [Found(one, change) for one in series for change in one.changes]
    return sorted(found, key=lambda one: (-one.change.night, one.series.id))


def without_a_time(trends: Trends) -> list[Untimed]:
    """The points that the newest night did not pass, but for those that their kernel refuses."""
    found = []
    for series in trends.series:
        outcome = series.outcome(trends.last)
        if outcome in ("passed", "refused"):
            continue
        since = trends.last
        while since > 0 and series.outcome(since - 1) == outcome:
            since -= 1
        found.append(Untimed(series, outcome, since))
    return found
