"""trends.json: the nights of a track with their epochs and changes, as a site draws them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import expm1, isnan, log1p
from typing import Any

import numpy as np

from ci.catalog import kernel_of
from ci.estimate import Array
from ci.history.change_points import Change, find_changes
from ci.history.epochs import Epoch, find_epochs
from ci.history.nights import Nights, Series
from ci.history.recall import StoredRun
from ci.policy import policy_for
from ci.records import five_digits

SCHEMA = 1
# What is drawn of a device function, as the sum of which fields of its document.
_RESOURCES = {
    "registers": ("registers",),
    "shared_bytes": ("shared_bytes",),
    "spills": ("local_loads", "local_stores"),
    "code_bytes": ("code_bytes",),
}


def trends_json(nights: Nights) -> bytes:
    """The file, compact."""
    document = trends_document(nights)
    return json.dumps(document, separators=(",", ":"), allow_nan=False).encode()


def trends_document(nights: Nights) -> dict[str, Any]:
    """The document; columns have an element a night, oldest first, null where there is none."""
    epochs = find_epochs([run.fingerprint for run in nights.runs])
    return {
        "schema": SCHEMA,
        "kind": "gemmwatch-trends",
        "selection": nights.runs[-1].selection,
        "nights": [
            _night(run, index)
            for index, epoch in enumerate(epochs)
            for run in nights.runs[epoch.first : epoch.end]
        ],
        "epochs": [
            {
                "first_night": epoch.first,
                "fingerprint": dict(epoch.fingerprint),
                "changed": {field: list(pair) for field, pair in epoch.changed.items()},
            }
            for epoch in epochs
        ],
        **nights.catalog,
        "series": [_series(name, one, nights, epochs) for name, one in nights.series.items()],
        "resources": [_resources(rows, len(nights.runs)) for rows in nights.resources],
    }


def series_changes(series: Series, nights: Nights, epochs: Sequence[Epoch]) -> list[Change]:
    """The changes in all epochs, by the number of the night. Disturbed nights say nothing."""
    value = np.where(nights.believed, series.columns["log_ratio"], np.nan)
    return [
        change
        for epoch in epochs
        for change in _epoch_changes(value, epoch, nights.runs[epoch.first : epoch.end])
    ]


def _epoch_changes(value: Array, epoch: Epoch, runs: Sequence[StoredRun]) -> list[Change]:
    present = epoch.first + np.flatnonzero(~np.isnan(value[epoch.first : epoch.end]))
    anchored = [epoch.first + index for index, run in enumerate(runs) if run.anchor]
    # Without an anchor of this epoch, creep is held against the epoch's first nights.
    anchor = int(np.searchsorted(present, anchored[0])) if anchored else 0
    floor = log1p(policy_for(epoch.fingerprint.get("device", "host")).tau)
    return [change.at_nights(present) for change in find_changes(value[present], floor, anchor)]


def _night(run: StoredRun, epoch: int) -> dict[str, Any]:
    return {
        "run": run.id,
        "finished": run.finished.isoformat(),
        "commit": run.commit,
        "trials": run.trials,
        "epoch": epoch,
        "answer": run.answer,
        "doubts": list(run.doubts),
    }


def _series(name: str, series: Series, nights: Nights, epochs: Sequence[Epoch]) -> dict[str, Any]:
    kernel = kernel_of(name)
    columns = {column: _numbers(values) for column, values in series.columns.items()}
    return {
        "id": name,
        "kernel": kernel,
        "problem": name[len(kernel) + 1 :],
        "us": columns.pop("kernel_us"),
        **columns,
        "outcomes": {str(night): outcome for night, outcome in sorted(series.broken.items())},
        "changes": [
            _change(change, nights.runs) for change in series_changes(series, nights, epochs)
        ],
    }


def _change(change: Change, runs: Sequence[StoredRun]) -> dict[str, Any]:
    return {
        "night": change.at,
        "before": change.before,
        "from_commit": runs[change.before].commit,
        "to_commit": runs[change.at].commit,
        "change": five_digits(expm1(change.effect)),
        "low": five_digits(expm1(change.low)),
        "high": five_digits(expm1(change.high)),
        "p": five_digits(change.p),
        "kind": change.kind,
    }


def _resources(rows: Mapping[int, Mapping[str, Any]], nights: int) -> dict[str, Any]:
    newest = rows[max(rows)]
    return {
        "function": newest["function"],
        "arch": newest["arch"],
        "kernel": newest.get("kernel", ""),
        **{
            name: [_sum(rows.get(night), fields) for night in range(nights)]
            for name, fields in _RESOURCES.items()
        },
    }


def _sum(row: Mapping[str, Any] | None, fields: Sequence[str]) -> int | None:
    """None on a night without the function, or without one of the fields."""
    values = [(row or {}).get(field) for field in fields]
    return sum(value for value in values if value is not None) if None not in values else None


def _numbers(values: Array) -> list[float | None]:
    return [None if isnan(value) else five_digits(value) for value in values.tolist()]
