"""A run of the history as the judge takes it."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from sqlalchemy import Connection, func, select

from ci.history.recall import StoredRun
from ci.history.tables import catalogs, points, results, samples
from ci.records import Outcome, PointSamples, Samples


def recall_samples(connection: Connection, run: StoredRun) -> Samples:
    outcomes = (
        select(points.c.name, results.c.outcome, results.c.reason)
        .join(points, points.c.id == results.c.point)
        .where(results.c.run == run.number)
    )
    told = {name: (Outcome(word), reason) for name, word, reason in connection.execute(outcomes)}
    throttled = select(func.avg(samples.c.throttled)).where(samples.c.run == run.number)
    catalog = select(catalogs.c.document).where(catalogs.c.id == run.catalog)
    kernels = connection.execute(catalog).scalar_one()["kernels"]
    return Samples(
        label=f"{'anchor' if run.anchor else 'night'} {run.id} of {run.finished:%Y-%m-%d}",
        date=run.finished,
        selection=run.selection,
        filter="",
        fingerprint=run.fingerprint,
        environment=run.environment,
        injected="",
        trials=run.trials,
        points=_points(connection, run),
        outcomes={name: outcome for name, (outcome, _) in told.items()},
        reasons={name: reason for name, (_, reason) in told.items() if reason},
        controls=frozenset(kernel["name"] for kernel in kernels if kernel["control"]),
        throttled=float(connection.scalar(throttled) or 0.0),
    )


def _points(connection: Connection, run: StoredRun) -> dict[str, PointSamples]:
    query = (
        select(points.c.name, samples.c.log_ratio, samples.c.kernel_us, samples.c.control_us)
        .join(points, points.c.id == samples.c.point)
        .where(samples.c.run == run.number)
        .order_by(points.c.name, samples.c.trial)
    )
    trials = defaultdict(list)
    for name, *values in connection.execute(query):
        trials[name].append(values)
    return {name: PointSamples(*np.array(rows, dtype=float).T) for name, rows in trials.items()}
