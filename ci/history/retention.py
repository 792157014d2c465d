"""Which runs a prune removes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ci.history.recall import StoredRun

# Of the old runs, the first of each such stretch stays.
KEEP: dict[str, Callable[[datetime], object]] = {
    "monthly": lambda day: (day.year, day.month),
    "weekly": lambda day: day.isocalendar()[:2],
    "none": lambda day: None,
}


def expendable(runs: Sequence[StoredRun], before: datetime, keep: str) -> list[StoredRun]:
    """The runs, given oldest first, that may go; never an anchor, nor the last run of a track."""
    newest = {run.track: run for run in runs}
    seen = set()
    going = []
    for run in runs:
        stretch = (run.track, KEEP[keep](run.finished))
        first = keep != "none" and stretch not in seen
        seen.add(stretch)
        if run.finished < before and not (first or run.anchor or run is newest[run.track]):
            going.append(run)
    return going
