"""The nights of a track as arrays: a point a series, a night an element."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from ci.errors import BadInput
from ci.estimate import Array
from ci.history.recall import StoredRun
from ci.history.recorded import GEMMWATCH
from ci.history.tables import catalogs, points, resources, results
from ci.records import Outcome

COLUMNS = (
    "log_ratio", "low", "high", "kernel_us", "control_us", "sm_mhz", "power_w", "bound_share"
)  # fmt: skip


@dataclass
class Series:
    """One point. NaN where a night has no such number."""

    columns: dict[str, Array]
    broken: dict[int, str] = field(default_factory=dict)  # night: what became of it, if not passed

    @property
    def tried(self) -> bool:
        """Whether it was ever launched: also a kernel that has never passed is to be seen."""
        timed = not np.isnan(self.columns["kernel_us"]).all()
        return timed or not set(self.broken.values()) <= {Outcome.refused}


@dataclass(frozen=True)
class Nights:
    """All that a track has of its runs, oldest first."""

    runs: Sequence[StoredRun]
    series: Mapping[str, Series]  # of points that were not refused every time
    catalog: Mapping[str, Any]
    resources: Sequence[Mapping[int, Mapping[str, Any]]]  # a device function each: night: its row

    @property
    def believed(self) -> NDArray[np.bool_]:
        """False for the nights on which the machine was disturbed."""
        return np.array([not run.doubts for run in self.runs])


def load_nights(connection: Connection, runs: Sequence[StoredRun]) -> Nights:
    """Raises BadInput for a track of another program: it has no kernels and no controls."""
    if runs[-1].source != GEMMWATCH:
        raise BadInput(
            str(runs[-1].track), "holds times without a control, of which there are no trends",
            "export them as csv or parquet",
        )  # fmt: skip
    night = {run.number: index for index, run in enumerate(runs)}
    return Nights(
        runs=runs,
        series=_series(connection, night),
        catalog=_catalog(connection, runs),
        resources=_resources(connection, night),
    )


def _series(connection: Connection, night: Mapping[int, int]) -> dict[str, Series]:
    measured = [results.c[name] for name in COLUMNS]
    query = (
        select(results.c.run, points.c.name, results.c.outcome, *measured)
        .join(points, points.c.id == results.c.point)
        .where(results.c.run.in_(night))
        .order_by(points.c.name)
    )
    found: dict[str, Series] = {}
    for run, name, outcome, *values in connection.execute(query):
        if name not in found:
            empty = np.full((len(COLUMNS), len(night)), np.nan)
            found[name] = Series(dict(zip(COLUMNS, empty, strict=True)))
        series = found[name]
        if outcome != Outcome.passed:
            series.broken[night[run]] = outcome
        for column, value in zip(series.columns.values(), values, strict=True):
            column[night[run]] = np.nan if value is None else value
    return {name: series for name, series in found.items() if series.tried}


def _catalog(connection: Connection, runs: Sequence[StoredRun]) -> dict[str, Any]:
    """The newest word on every kernel and problem that was ever measured."""
    newest_first = dict.fromkeys(run.catalog for run in reversed(runs))
    numbers = list(reversed(newest_first))
    query = select(catalogs.c.id, catalogs.c.document).where(catalogs.c.id.in_(numbers))
    documents = {row.id: row.document for row in connection.execute(query)}
    ordered = [documents[number] for number in numbers]
    kernels = {kernel["name"]: kernel for one in ordered for kernel in one["kernels"]}
    problems = {problem["id"]: problem for one in ordered for problem in one["problems"]}
    return {
        "kernels": sorted(kernels.values(), key=lambda kernel: (kernel["order"], kernel["name"])),
        "problems": list(problems.values()),
        "peaks": documents[runs[-1].catalog]["peaks"],
    }


def _resources(
    connection: Connection, night: Mapping[int, int]
) -> list[Mapping[int, Mapping[str, Any]]]:
    query = (
        select(resources)
        .where(resources.c.run.in_(night))
        .order_by(resources.c.function, resources.c.arch)
    )
    found: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for run, function, arch, document in connection.execute(query):
        found[function, arch][night[run]] = document
    return list(found.values())
