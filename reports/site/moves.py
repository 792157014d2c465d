"""What moved: since the last night that is believed, by steps of late, and by slow creep."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from reports.site.trends import Change, Series, Trends

WEEK, MONTH = timedelta(days=7), timedelta(days=31)


@dataclass(frozen=True)
class Move:
    """The time of a point, relative to the control, against that of an earlier night."""

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
    """A point that has another outcome than on an earlier night."""

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
    """Largest first; none if there is no night to compare the newest with."""
    found = [move_of(trends, series) for series in trends.series]
    return sorted(
        (move for move in found if move), key=lambda move: (-abs(move.change), move.series.id)
    )


def move_of(trends: Trends, series: Series) -> Move | None:
    if trends.compared_with is None:
        return None
    nights = [trends.compared_with, trends.last]
    middle, low, high = (column[nights] for column in (series.log_ratio, series.low, series.high))
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
    if trends.compared_with is None:
        return []
    found = []
    for series in trends.series:
        before, after = (series.outcome(night) for night in (trends.compared_with, trends.last))
        if before != after:
            found.append(Turn(series, before, after))
    return sorted(found, key=lambda turn: (turn.after == "passed", turn.after, turn.series.id))


def recent_changes(trends: Trends, within: timedelta) -> list[Found]:
    """Steps at most this old, largest first."""
    found = _changes(trends.series)
    return _largest_first(
        one for one in found
        if not one.change.creeps and trends.age(one.change.since) <= within
    )  # fmt: skip


def creeping(trends: Trends) -> list[Found]:
    """What creeps in the epoch of the newest night, largest first."""
    epoch = trends.nights[-1].epoch
    return _largest_first(
        one for one in _changes(trends.series)
        if one.change.creeps and trends.nights[one.change.night].epoch == epoch
    )  # fmt: skip


def changes_of(series: Iterable[Series]) -> list[Found]:
    """All changes, those that began last first."""
    return sorted(_changes(series), key=lambda one: (-one.change.since, one.series.id))


def _changes(series: Iterable[Series]) -> list[Found]:
    return [Found(one, change) for one in series for change in one.changes]


def _largest_first(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: (-abs(one.change.change), one.series.id))


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
