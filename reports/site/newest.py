"""The newest night as a run, so that whatever draws a run can draw it."""

import math

import numpy as np

from reports.files import ReportError
from reports.model import Measured, Performance, Point, Sample
from reports.site.trends import Series, Trends
from reports.verdict import Verdict

NO_REASON = "the history keeps no reason"
ROUNDING = 0.001  # relative, at most, between a time and itself as the history keeps it


def newest_night(trends: Trends) -> Measured:
    night = trends.nights[-1]
    points = [_point(series, trends.last) for series in trends.series]
    return Measured(
        source=trends.source,
        device_note="",
        fingerprint=trends.fingerprint,
        environment={},
        injected="",
        peaks=trends.peaks,
        kernels=trends.kernels,
        points=tuple(point for point in points if point),
        selection=trends.selection,
        trials=night.trials,
        when=f"measured {night.date}",
    )


def check_is_newest(trends: Trends, run: Measured) -> None:
    """The run adds reasons and refusals to the newest night, if it is that night."""
    if run.fingerprint != trends.fingerprint:
        raise ReportError(
            f"{run.source}: was measured on another machine or build than the newest night of "
            f"{trends.source}; give the run of that night"
        )
    stored = {point.id: point.performance for point in newest_night(trends).points}
    for point in run.points:
        theirs = stored.get(point.id)
        if point.performance and theirs and _differ(point.performance, theirs):
            raise ReportError(
                f"{run.source}: {point.id} has another time than on the newest night of "
                f"{trends.source}; give the run of that night, or export the trends again"
            )


def check_judges_newest(trends: Trends, verdict: Verdict) -> None:
    """The verdict is told of the newest night, if it is on that night."""
    night = trends.nights[-1]
    if verdict.head_fingerprint != trends.fingerprint:
        judged = "another machine or build than the newest night"
    elif verdict.head_finished and verdict.head_finished.replace(microsecond=0) != night.finished:
        judged = (
            f"a run that ended at {verdict.head_finished}, the newest night at {night.finished}"
        )
    else:
        return
    raise ReportError(
        f"{trends.source}: the verdict is about {judged}; "
        "give the verdict that `gemmwatch gate` wrote for that night"
    )


def _differ(run: Performance, stored: Performance) -> bool:
    return abs(math.log(run.kernel_us / stored.kernel_us)) > ROUNDING


def _point(series: Series, night: int) -> Point | None:
    outcome = series.outcome(night)
    if not outcome:
        return None
    passed = outcome == "passed"
    return Point(
        id=series.id,
        kernel=series.kernel,
        problem=series.problem,
        outcome=outcome,
        reason="" if passed else NO_REASON,
        performance=Performance(series.problem, (_sample(series, night),)) if passed else None,
    )


def _sample(series: Series, night: int) -> Sample:
    counters = {"sm_mhz": series.sm_mhz[night], "power_w": series.power_w[night]}
    return Sample(
        trial=0,
        log_ratio=float(series.log_ratio[night]),
        kernel_us=float(series.us[night]),
        control_us=float(series.control_us[night]),
        counters={name: float(value) for name, value in counters.items() if np.isfinite(value)},
    )
